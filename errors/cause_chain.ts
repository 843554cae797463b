/** More links than this are no chain that a person reads. */
const MAX_LINKS = 32;

/**
 * The error itself and what led to it, through `cause` and the parts of an `AggregateError`, nearest first.
 * A chain that leads back to itself ends there.
 *
 * @param error Anything that was thrown.
 * @returns At most 32 values, each once.
 */
export function causeChain(error: unknown): unknown[] {
  const chain: unknown[] = [error];
  // what is added while it goes on is visited too
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
 * The first link of {@link causeChain} that fits.
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
