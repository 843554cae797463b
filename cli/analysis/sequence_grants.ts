import { compareText } from "./findings.ts";
import type { Project } from "./project.ts";
import type { EffectByKind, Reached } from "./reached.ts";
import type { SequencePrivilege } from "./sql_sequences.ts";
import { printTable, type TableName } from "./values.ts";

/** The grants of a function on one sequence, and the SQL that needs them. */
export interface SequenceGrant {
  readonly sequence: TableName;
  /** Sorted. */
  readonly privileges: readonly SequencePrivilege[];
  /** `nextval (src/queries/orders.ts)`, sorted. */
  readonly neededBy: readonly string[];
}

/** Returns the grants of a function on sequences that its SQL text names. */
export function getSequenceGrants(project: Project, reached: Reached): SequenceGrant[] {
  const found = new Map<
    string,
    { sequence: TableName; privileges: Set<SequencePrivilege>; neededBy: Set<string> }
  >();
  for (const { node, caller, sequence, privilege } of reached.list("sequence-access")) {
    if (sequence === undefined) continue;
    const key = printTable(sequence);
    const entry = found.get(key) ?? { sequence, privileges: new Set(), neededBy: new Set() };
    entry.privileges.add(privilege);
    entry.neededBy.add(`${caller} (${project.getPath(node)})`);
    found.set(key, entry);
  }
  return [...found].sort(([a], [b]) => compareText(a, b)).map(([, entry]) => ({
    sequence: entry.sequence,
    privileges: [...entry.privileges].sort(),
    neededBy: [...entry.neededBy].sort(compareText),
  }));
}

/** Finds uses of sequences whose names are only known at run time. */
export function findUnknownSequences(reached: Reached): EffectByKind<"sequence-access">[] {
  return reached.list("sequence-access").filter(({ sequence }) => sequence === undefined);
}
