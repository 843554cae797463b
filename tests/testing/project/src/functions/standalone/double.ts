export const handler = ({ value }: { value: number }, { functionName }: { functionName: string }) =>
  Promise.resolve({ functionName, value: 2 * value });
