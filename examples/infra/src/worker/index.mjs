// Stands for the built worker; reports no message as failed.
export async function handler() {
  return { batchItemFailures: [] };
}
