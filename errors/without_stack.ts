/**
 * Creates an error without stack frames, for a request that the client got wrong: the frames cost
 * ten times the error, and show only that this package has refused it.
 *
 * @param create Creates the error.
 * @returns The error.
 */
export function withoutStack<E extends Error>(create: () => E): E {
  const { stackTraceLimit } = Error;
  // an assignment would throw if Error is frozen (node --frozen-intrinsics)
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return create();
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}
