import type { DeclaredTable } from "../../schema/declared_schema.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { deriveName, type QualifiedName, writeName } from "../../../sql/sql_name.ts";
import type { DistSqlNotNull, DistSqlStep, StatementTranslation } from "../context/translation.ts";

/** Table of an ALTER TABLE, with the beginnings of its statements. */
export interface AlterTarget {
  /** The table. */
  readonly table: QualifiedName;
  /** `ALTER TABLE [IF EXISTS] [ONLY] name`. */
  readonly head: string;
  /** `ALTER TABLE ASYNC [IF EXISTS] name`. */
  readonly asyncHead: string;
  /** Quoted name in the catalog. */
  readonly quoted: string;
  /** Declaration of the table by earlier statements. */
  readonly known: DeclaredTable | undefined;
}

/** ALTER TABLE that is translated. */
export interface AlterScope {
  /** The statement. */
  readonly reader: StatementReader;
  /** The table. */
  readonly target: AlterTarget;
  /** Receives rules and refusals. */
  readonly t: StatementTranslation;
}

/** Translation of one action of an ALTER TABLE. */
export type AlterResult =
  /** The action, possibly rewritten. */
  | { readonly keep: string; readonly notNull?: DistSqlNotNull }
  /** Separate statements. */
  | { readonly steps: readonly DistSqlStep[] }
  /** Nothing: omitted or rejected. */
  | undefined;

/** Creates the step that validates a constraint for existing rows. */
export function validateStep(target: AlterTarget, name: string): DistSqlStep {
  const job = { kind: "constraint", table: target.table.text, name } as const;
  return { sql: `${target.asyncHead} VALIDATE CONSTRAINT ${name};`, job };
}

/** Column in a generated name. */
export type NamedColumn = Pick<QualifiedName, "name" | "isQuoted">;

/** Generates a constraint name that was not generated before in this text. */
export function nameConstraint(
  target: AlterTarget,
  columns: readonly NamedColumn[],
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

/** Creates a plain step. */
export function step(sql: string): DistSqlStep {
  return { sql };
}

/** Marks all steps after the first as its completion. */
export function chain([first, ...rest]: readonly DistSqlStep[]): DistSqlStep[] {
  return [first, ...rest.map((one) => ({ ...one, follows: true }))];
}
