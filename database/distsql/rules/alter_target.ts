import type { DeclaredTable } from "../declared/declared_schema.ts";
import { deriveName, type QualifiedName, writeName } from "../sql_name.ts";
import type { DistSqlNotNull, DistSqlStep, StatementTranslation } from "../translation.ts";

/** The table of an ALTER TABLE, and how its statements start. */
export interface AlterTarget {
  /** The table. */
  readonly table: QualifiedName;
  /** `ALTER TABLE [IF EXISTS] [ONLY] name`. */
  readonly head: string;
  /** `ALTER TABLE ASYNC [IF EXISTS] name`. */
  readonly asyncHead: string;
  /** The table as the catalog has it, quoted. */
  readonly quoted: string;
  /** What earlier statements declared about it. */
  readonly known: DeclaredTable | undefined;
}

/** What one action of an ALTER TABLE becomes. */
export type AlterResult =
  /** The action itself, perhaps written another way. */
  | { readonly keep: string; readonly notNull?: DistSqlNotNull }
  /** Statements of their own. */
  | { readonly steps: readonly DistSqlStep[] }
  /** Nothing: left out, or refused. */
  | undefined;

/** The step that checks the rows that are there against a constraint. */
export function validateStep(target: AlterTarget, name: string): DistSqlStep {
  const job = { kind: "constraint", table: target.table.text, name } as const;
  return { sql: `${target.asyncHead} VALIDATE CONSTRAINT ${name};`, job };
}

/** Makes a name for a constraint of the table, another one than those made before in this text. */
export function nameConstraint(
  target: AlterTarget,
  columns: readonly QualifiedName[],
  label: string,
  t: StatementTranslation,
): string {
  const { table } = target;
  const joined = columns.map((column) => column.name).join("_");
  const first = deriveName(table.name, joined, label);
  const key = `${table.path} ${first}`;
  const count = t.scope.names.get(key) ?? 0;
  t.scope.names.set(key, count + 1);
  const name = count === 0 ? first : deriveName(table.name, joined, `${label}${count}`);
  return writeName(name, table.isQuoted || columns.some((column) => column.isQuoted));
}

/** A plain step. */
export function step(sql: string): DistSqlStep {
  return { sql };
}

/** Marks all steps but the first one as its completion. */
export function chain([first, ...rest]: readonly DistSqlStep[]): DistSqlStep[] {
  return [first, ...rest.map((one) => ({ ...one, follows: true }))];
}
