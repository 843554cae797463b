import { setLogOutput } from "../../observability/mod.ts";

/**
 * Runs a function with what it logs put aside.
 *
 * @param fn The function.
 * @returns What was written, one text for each write.
 */
export async function quietly(fn: () => Promise<void>): Promise<string[]> {
  const writes: string[] = [];
  const restore = setLogOutput((text) => writes.push(text));
  try {
    await fn();
  } finally {
    restore();
  }
  return writes;
}
