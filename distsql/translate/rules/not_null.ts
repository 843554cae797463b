import type { QualifiedName } from "../../../sql/sql_name.ts";
import type { StatementTranslation } from "../context/translation.ts";
import {
  type AlterResult,
  type AlterTarget,
  nameConstraint,
  step,
  validateStep,
} from "./alter_target.ts";

/**
 * Returns the steps that make an existing column NOT NULL: a CHECK added as NOT VALID, then
 * validated.
 *
 * @param column The column.
 * @param given Name of the constraint in the statement.
 * @param target The table.
 * @param t Receives a generated name.
 * @returns The steps.
 */
export function notNullSteps(
  column: QualifiedName,
  given: QualifiedName | undefined,
  target: AlterTarget,
  t: StatementTranslation,
): AlterResult {
  const name = given?.text ?? nameConstraint(target, [column], "not_null", t);
  const about = { table: target.quoted, column: column.name };
  const catalogName = given?.name ?? unquote(name);
  return {
    steps: [
      {
        ...step(
          `${target.head} ADD CONSTRAINT ${name} CHECK (${column.text} IS NOT NULL) NOT VALID;`,
        ),
        notNull: [{ ...about, does: "add", name: catalogName }],
      },
      {
        ...validateStep(target, name),
        notNull: [{ ...about, does: "validate", name: catalogName }],
      },
    ],
  };
}

function unquote(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

/**
 * Keeps DROP NOT NULL, and records that a CHECK which replaces NOT NULL is dropped with it.
 *
 * @param keep The action, as written.
 * @param column The column.
 * @param target The table.
 */
export function dropNotNull(keep: string, column: QualifiedName, target: AlterTarget): AlterResult {
  return {
    keep,
    notNull: { table: target.quoted, column: column.name, does: "drop" },
  };
}
