import { setLogOutput } from "../../observability/mod.ts";

/**
 * Runs a function and keeps what it logs.
 *
 * @param fn The function.
 * @returns What was written, one text for each write.
 */
export async function captureLog(fn: () => Promise<void>): Promise<string[]> {
  const writes: string[] = [];
  await withOutput((text) => writes.push(text), fn);
  return writes;
}

/**
 * Runs a function and drops what it logs.
 *
 * @param fn The function.
 */
export function quietly(fn: () => Promise<void>): Promise<void> {
  return withOutput(() => {}, fn);
}

async function withOutput(write: (text: string) => void, fn: () => Promise<void>): Promise<void> {
  const restore = setLogOutput(write);
  try {
    await fn();
  } finally {
    restore();
  }
}
