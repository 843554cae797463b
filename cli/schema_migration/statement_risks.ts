import { objectAt } from "../../distsql/syntax/statement_table.ts";
import { type AlterAction, readAlterActions } from "../../distsql/syntax/alter_action.ts";
import { SERIAL } from "../../distsql/syntax/column_definition.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import { readName } from "../../sql/sql_name.ts";
import { splitStatements } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { createLocator } from "../../sql/text_position.ts";
import { RISK_COMMENT, RISKS } from "./difference.ts";

/** A statement of a migration that loses data, or fails on present rows. */
export interface RiskyStatement {
  /** Line in the file, from 1. */
  readonly line: number;
  /** The beginning of the statement, without values. */
  readonly statement: string;
  /** What is lost, or when the statement fails. */
  readonly risk: string;
  /** The only table whose rows are concerned, as written; omitted if it is not known. */
  readonly table?: string;
}

/**
 * Finds the statements of a migration that drop or delete data, and those that fail if a table has
 * rows. Warnings of `trellis generate migration` in the file count too.
 *
 * @param sql The file.
 */
export function findRisks(sql: string): RiskyStatement[] {
  const locate = createLocator(sql);
  return splitStatements(sql).flatMap(({ start, tokens }) => {
    const reader = new StatementReader(tokens);
    const risk = readWarning(reader) ?? findRisk(reader);
    if (risk === undefined) return [];
    const first = tokens.slice(0, reader.places[0]).reduce(
      (at, { text }) => at + text.length,
      start,
    );
    return [{
      line: locate(first).line,
      statement: maskStatement(tokens),
      risk,
      table: findTable(reader),
    }];
  });
}

/** Returns the warning that `renderStep` wrote before a statement. */
function readWarning({ tokens }: StatementReader): string | undefined {
  const comment = tokens.find(({ kind, text }) =>
    kind === "line_comment" && text.startsWith(RISK_COMMENT)
  );
  return comment?.text.slice(RISK_COMMENT.length).trim().replace(/\.$/, "");
}

function findRisk(reader: StatementReader): string | undefined {
  const first = reader.key(0);
  if (first === "TRUNCATE" || first === "DELETE") return RISKS.rows;
  if (first === "DROP") return findDropRisk(reader);
  if (first === "WITH") return /\bDELETE\s/i.test(reader.source) ? RISKS.rows : undefined;
  if (first === "DO") {
    return /\b(?:DROP|TRUNCATE|DELETE)\b/i.test(reader.source) ? RISKS.block : undefined;
  }
  if (!reader.is(0, "ALTER", "TABLE")) return undefined;
  return readAlterActions(reader).map((action) => findActionRisk(reader, action))
    .find((risk) => risk !== undefined);
}

function findDropRisk(reader: StatementReader): string | undefined {
  const kind = reader.key(objectAt(reader));
  if (kind === "TABLE") return RISKS.table;
  if (kind === "SCHEMA") return RISKS.schema;
  return reader.key(reader.size - 1) === "CASCADE" ? RISKS.dependents : undefined;
}

function findActionRisk(reader: StatementReader, action: AlterAction): string | undefined {
  switch (action.kind) {
    case "drop_column":
      return RISKS.column;
    case "alter_column":
      if (action.change === "set_not_null") return RISKS.required;
      return action.change === "type" ? RISKS.type : undefined;
    case "add_column": {
      const { clauses, typeFrom } = action.column;
      const kinds = new Set(clauses.map(({ kind }) => kind));
      const isFilled = kinds.has("default") || kinds.has("generated") || kinds.has("identity") ||
        SERIAL.has(reader.key(typeFrom).toLowerCase());
      return kinds.has("not_null") && !isFilled ? RISKS.added : undefined;
    }
  }
}

/** Returns the name of the only table that a statement changes, as written. */
function findTable(reader: StatementReader): string | undefined {
  if (reader.is(0, "CREATE", "UNIQUE", "INDEX")) {
    return readName(reader, reader.skip(reader.find("ON", 3) + 1, "ONLY")).text;
  }
  const isAlter = reader.is(0, "ALTER", "TABLE");
  if (!isAlter && reader.find(",", 1) >= 0) return undefined;
  if (isAlter) return readName(reader, reader.alteredTableAt()).text;
  if (reader.is(0, "DROP", "TABLE")) return readName(reader, reader.skip(2, "IF", "EXISTS")).text;
  if (!reader.is(0, "TRUNCATE")) return undefined;
  return readName(reader, reader.skip(reader.skip(1, "TABLE"), "ONLY")).text;
}
