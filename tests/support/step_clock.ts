/**
 * Runs work during which the machine's clock can be set, as an administrator or a time server sets it.
 *
 * @param work Gets a function that sets the clock so many milliseconds ahead of the real time, or behind it.
 * @returns What the work returns.
 */
export async function withSteppedClock<T>(
  work: (setMs: (offsetMs: number) => void) => T | Promise<T>,
): Promise<T> {
  const { now } = Date;
  let offsetMs = 0;
  Date.now = () => now() + offsetMs;
  try {
    return await work((ms) => offsetMs = ms);
  } finally {
    Date.now = now;
  }
}
