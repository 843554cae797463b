/** Longer chains are cut. */
const MAX_LINKS = 32;

/**
 * Lists an error and its causes, including the parts of an `AggregateError`, nearest first. A circular chain ends at
 * the repeated error.
 *
 * @param error Anything that was thrown.
 * @returns At most 32 values, each once.
 */
export function causeChain(error: unknown): unknown[] {
  const chain: unknown[] = [error];
  // the loop also visits the links that it adds
  for (const link of chain) {
    for (const value of getCauses(link)) {
      if (
        value !== undefined && value !== null && chain.length < MAX_LINKS && !chain.includes(value)
      ) {
        chain.push(value);
      }
    }
  }
  return chain;
}

function getCauses(link: unknown): unknown[] {
  try {
    const { cause, errors } = link as { cause?: unknown; errors?: unknown };
    return Array.isArray(errors) && link instanceof AggregateError ? [cause, ...errors] : [cause];
  } catch {
    return []; // null, a proxy or a getter that throws
  }
}

/**
 * Returns the first link of {@link causeChain} that passes a test.
 *
 * @param error Anything that was thrown.
 * @param fits The test, called with each link.
 * @returns The link, or `undefined`.
 *
 * @example
 * ```ts
 * import { findInCauseChain } from "@trellis/fn/errors";
 *
 * const error = new Error("query failed", { cause: { code: "40001" } });
 * console.log(findInCauseChain(error, (link) => (link as { code?: string }).code === "40001")); // { code: "40001" }
 * ```
 */
export function findInCauseChain(error: unknown, fits: (link: unknown) => boolean): unknown {
  return causeChain(error).find(fits);
}
