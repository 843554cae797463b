import { isAcceptedCache } from "../context/options.ts";
import type { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";

/**
 * Adjusts CACHE in the options of a sequence.
 *
 * @returns True if the options contain CACHE.
 */
export function normalizeCache(
  edits: TokenEdits,
  from: number,
  to: number,
  rule: string,
  t: StatementTranslation,
): boolean {
  const { reader } = edits;
  for (let at = from; at < to; at++) {
    if (reader.key(at) !== "CACHE" || reader.token(at + 1)?.kind !== "number") continue;
    if (!isAcceptedCache(Number(reader.token(at + 1)!.text.replaceAll("_", "")))) {
      edits.replace(at + 1, at + 2, String(t.options.identityCache));
      t.warn(rule);
    }
    return true;
  }
  return false;
}

/**
 * Adds the CACHE that the provider requires to `GENERATED … AS IDENTITY`.
 *
 * @param edits Receives the change.
 * @param from Position of GENERATED.
 * @param to End of the clause, including its options in parentheses.
 * @param t Receives the rule.
 */
export function normalizeIdentity(
  edits: TokenEdits,
  from: number,
  to: number,
  t: StatementTranslation,
): void {
  const { reader } = edits;
  if (normalizeCache(edits, from, to, "identity-cache", t)) return;
  t.apply("identity-cache");
  const cache = `CACHE ${t.options.identityCache}`;
  if (reader.key(to - 1) !== ")") edits.insertAfter(to - 1, ` (${cache})`);
  else edits.insertAfter(to - 2, reader.key(to - 2) === "(" ? cache : ` ${cache}`);
}
