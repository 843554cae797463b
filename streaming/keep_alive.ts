/**
 * Repeats a text whenever a source is idle.
 *
 * @param source The source.
 * @param idleMs Milliseconds without a part after which the text is sent; 0 for never.
 * @param text The text.
 */
export async function* withKeepAlive(
  source: AsyncIterable<string>,
  idleMs: number,
  text: string,
): AsyncGenerator<string> {
  if (idleMs === 0) return yield* source;
  const iterator = source[Symbol.asyncIterator]();
  let isDone = false;
  try {
    while (!isDone) {
      const next = iterator.next();
      let result = await waitAtMost(next, idleMs);
      while (result === undefined) {
        yield text;
        result = await waitAtMost(next, idleMs);
      }
      isDone = result.done === true;
      if (!isDone) yield result.value;
    }
  } finally {
    // not awaited: a source that waits would keep the response open
    if (!isDone) iterator.return?.()?.catch(() => {});
  }
}

/** Waits for a promise. Returns `undefined` if it takes longer. */
function waitAtMost<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout>;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
