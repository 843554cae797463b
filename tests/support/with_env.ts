/**
 * Runs a function with environment variables set or, with `undefined`, unset, and puts the former ones back.
 *
 * @param variables Names and values.
 * @param fn The function.
 * @returns What it returns.
 */
export async function withEnv<T>(
  variables: Readonly<Record<string, string | undefined>>,
  fn: () => T | Promise<T>,
): Promise<T> {
  const former = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  const set = (entries: Iterable<readonly [string, string | undefined]>): void => {
    for (const [name, value] of entries) {
      value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
    }
  };
  set(Object.entries(variables));
  try {
    return await fn();
  } finally {
    set(former);
  }
}
