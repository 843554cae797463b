// Placeholder for the worker: reports no message as failed.
export async function handler() {
  return { batchItemFailures: [] };
}
