import type {
  DistSqlCategory,
  DistSqlEvidence,
  DistSqlIncompatibility,
} from "./incompatibility.ts";

/** Sources that observed clusters. */
const LIVE: ReadonlySet<string> = new Set(["LIM", "EMU", "DSB", "PROBE"]);
const TOOL = "LINT";

type Entry = Omit<DistSqlIncompatibility, "category" | "evidence"> & {
  /** Kind of evidence, if it is not the best of the entry's sources. */
  readonly evidence?: DistSqlEvidence;
};

function bestEvidence(source: DistSqlIncompatibility["source"]): DistSqlEvidence {
  if (source.some((key) => LIVE.has(key))) return "live";
  return source.every((key) => key === TOOL) ? "tool" : "documented";
}

/**
 * Returns entries of the registry that are about the same part of PostgreSQL. An entry with a
 * message and without a SQLSTATE has 0A000, feature_not_supported.
 */
export function inCategory(
  category: DistSqlCategory,
  entries: readonly Entry[],
): DistSqlIncompatibility[] {
  return entries.map((entry) => ({
    ...entry.message === undefined ? {} : { sqlState: "0A000" },
    evidence: bestEvidence(entry.source),
    ...entry,
    category,
  }));
}
