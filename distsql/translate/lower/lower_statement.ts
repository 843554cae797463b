import { readLiteral } from "../../../sql/quote.ts";
import {
  type DeclaredSchema,
  type DeclaredTable,
  findObject,
} from "../../schema/declared_schema.ts";
import { foldWithNames } from "../../schema/fold_statement.ts";
import { readAlterActions } from "../../syntax/alter_action.ts";
import { isNotValid, type TableConstraint } from "../../syntax/table_constraint.ts";
import { readName, writeName } from "../../../sql/sql_name.ts";
import { splitStatements } from "../../../sql/statement.ts";
import { parseStatement, StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { lowerAlterTable } from "./alter_table.ts";
import { checkLabels, lowerCasts } from "./enum_expressions.ts";
import { lowerAlterEnum, lowerCreateEnum, lowerDropEnum } from "./enum_change.ts";
import { lowerCreateTable } from "./enum_column.ts";
import { checkOrder, findOrderUses } from "./enum_order.ts";
import type { Lowered, Lowering } from "./lowered.ts";
import { lowerAlterSequence, lowerDropSequence } from "./serial.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/**
 * Writes PostgreSQL's generated names into an ALTER TABLE, because its constraints become several
 * statements.
 */
function nameConstraints(
  reader: StatementReader,
  names: ReadonlyMap<number, string>,
  t: StatementTranslation,
): StatementReader {
  if (names.size === 0 || !reader.is(0, "ALTER", "TABLE")) return reader;
  const edits = new TokenEdits(reader);
  const start = reader.nameEnd(reader.alteredTableAt());
  for (const action of readAlterActions(reader)) {
    const { from, to } = action;
    const constraint = action.kind === "add_constraint" ? action.constraint : undefined;
    if (constraint && !takesName(reader, constraint)) continue;
    for (const [at, name] of names) {
      if (at <= from || at >= to) continue;
      const isQuoted = `${reader.text(2, start)} ${reader.text(from, to)}`.includes('"');
      edits.insertBefore(at, `CONSTRAINT ${writeName(name, isQuoted)} `);
      if (constraint && constraint.kind !== "primary_key") t.warn("constraint-name");
    }
  }
  return edits.isEmpty ? reader : parseStatement(edits.apply());
}

/** Checks whether a constraint becomes several statements, which must use its name. */
function takesName(reader: StatementReader, constraint: TableConstraint): boolean {
  if (constraint.kind === "unique" || constraint.kind === "primary_key") {
    return !constraint.usesIndex;
  }
  return (constraint.kind === "check" || constraint.kind === "foreign_key") &&
    !isNotValid(reader, constraint);
}

/**
 * Rejects a function whose signature or body names an enum, or whose body uses an enum's order,
 * because function bodies are not translated.
 */
function checkFunction(lowering: Lowering): void {
  const { reader, before, t } = lowering;
  const named = findNamedEnum(reader, before);
  if (named !== undefined) {
    return t.refuse("type-enum-use", `the enum ${named} in a function`, named);
  }
  const bodies = reader.tokens.flatMap((token) => splitStatements(readLiteral(token) ?? ""));
  for (const part of [reader, ...bodies.map(({ tokens }) => new StatementReader(tokens))]) {
    if (lowerCasts({ ...lowering, reader: part }) !== part) {
      return t.refuse("type-enum-use", "a cast to an enum in a function");
    }
    const [use] = findOrderUses(part, before);
    if (use === undefined) continue;
    const name = use.types.map((type) => type.name).join(", ");
    t.refuse("type-enum-unproven", `${use.what}, of the enum ${name} in a function`, name);
  }
}

/** Returns the first enum in a function's signature. */
function findNamedEnum(reader: StatementReader, state: DeclaredSchema): string | undefined {
  const end = reader.findEnd(new Set(["AS", "RETURN", "BEGIN"]), 1);
  for (let at = 0; at < end; at = Math.max(reader.nameEnd(at), at + 1)) {
    const found = reader.isName(at) ? findObject(state.enums, readName(reader, at)) : undefined;
    if (found) return found.name;
  }
  return undefined;
}

/** Omits grants on enums, which do not exist on the provider. */
function lowerGrant({ reader, before, t }: Lowering): Lowered[] {
  const on = reader.find("ON", 1);
  if (!reader.is(on + 1, "TYPE")) return [reader];
  const end = reader.find(new Set(["TO", "FROM"]), on);
  const isEnum = reader.list(on + 2, end).every(([at]) =>
    findObject(before.enums, readName(reader, at)) !== undefined
  );
  if (!isEnum) return [reader];
  t.apply("type-enum-check");
  return [];
}

/** Translates enums in the expressions of a statement, which must not use their order. */
function lowerExpressions(lowering: Lowering, table?: DeclaredTable): StatementReader {
  checkLabels(lowering, table);
  checkOrder(lowering, table);
  return lowerCasts(lowering);
}

function lowerTable(lowering: Lowering, nameAt: number): StatementReader {
  const { reader, before, after } = lowering;
  if (before.enums.size === 0) return lowerCreateTable(lowering);
  const name = readName(reader, reader.skip(nameAt, "IF", "NOT", "EXISTS"));
  const lowered = lowerExpressions(lowering, findObject(after.tables, name));
  return lowerCreateTable({ ...lowering, reader: lowered });
}

function lowerCreate(lowering: Lowering): Lowered[] {
  const { reader, before, t } = lowering;
  if (reader.is(1, "TYPE")) {
    if (!reader.is(readName(reader, 2).end, "AS", "ENUM", "(")) return [reader];
    lowerCreateEnum(lowering);
    return [];
  }
  if (reader.is(1, "DOMAIN")) {
    const written = readName(reader, 2);
    const base = findObject(before.enums, readName(reader, reader.skip(written.end, "AS")));
    if (base) t.refuse("type-enum-use", `a domain over the enum ${base.name}`, base.name);
    return base ? [] : [reader];
  }
  const object = reader.find(new Set(["TABLE", "FUNCTION", "INDEX", "VIEW"]), 1);
  if (reader.is(object, "FUNCTION")) {
    checkFunction(lowering);
    return [reader];
  }
  // includes CREATE UNLOGGED TABLE
  if (reader.is(object, "TABLE")) return [lowerTable(lowering, object + 1)];
  if (!reader.is(object, "INDEX")) return [lowerExpressions(lowering)];
  const on = reader.find("ON", object);
  const table = findObject(before.tables, readName(reader, reader.skip(on + 1, "ONLY")));
  return [lowerExpressions(lowering, table)];
}

/** Statements in which a type can only be the target of a cast. */
const WITH_EXPRESSIONS: ReadonlySet<string> = keywordSet(`
  SELECT WITH INSERT VALUES EXPLAIN ( UPDATE DELETE CALL MERGE
`);

function lowerEnums(lowering: Lowering): Lowered[] {
  const { reader } = lowering;
  if (reader.is(0, "CREATE")) return lowerCreate(lowering);
  if (reader.is(0, "GRANT") || reader.is(0, "REVOKE")) return lowerGrant(lowering);
  if (reader.is(0, "ALTER", "TYPE")) return lowerAlterEnum(lowering) ?? [reader];
  if (reader.is(0, "DROP", "TYPE")) return lowerDropEnum(lowering) ?? [reader];
  if (reader.isOneOf(0, WITH_EXPRESSIONS)) return [lowerExpressions(lowering)];
  return [reader];
}

/**
 * Replaces features that the provider lacks and the files declare: enums become text with a CHECK
 * of their labels (with the option `enums`), a `serial` column becomes an identity, and unnamed
 * constraints get PostgreSQL's generated names.
 *
 * @param statement The statement, as written for PostgreSQL.
 * @param t Receives rules, warnings and refusals; its scope receives the declarations of the
 * statement.
 * @returns The statements to translate or run instead, in order; the statement itself if nothing
 * changes.
 */
export function lowerStatement(
  statement: StatementReader,
  t: StatementTranslation,
): readonly Lowered[] {
  if (statement.is(0, "DO")) return [statement];
  const declared = t.scope.declared;
  const folded = foldWithNames(declared, statement);
  t.scope.declared = folded.state;
  const [before, after] = [withEnums(declared, t), withEnums(folded.state, t)];
  const lowering: Lowering = { reader: statement, before, after, t };
  const hasEnums = before.enums.size > 0 || after.enums.size > 0;
  switch (`${statement.key(0)} ${statement.key(1)}`) {
    case "DROP SEQUENCE":
      return lowerDropSequence(lowering);
    case "ALTER SEQUENCE":
      return lowerAlterSequence(lowering);
    case "ALTER TABLE": {
      const named = { ...lowering, reader: nameConstraints(statement, folded.names, t) };
      if (!hasEnums) return lowerAlterTable(named);
      const reader = lowerExpressions(named, alteredTable(named));
      return lowerAlterTable({ ...lowering, reader });
    }
    case "CREATE TABLE":
      return [lowerTable(lowering, 2)];
    default:
      return hasEnums ? lowerEnums(lowering) : [statement];
  }
}

/** Returns the table of an ALTER TABLE, with the columns that it has before or after. */
function alteredTable({ reader, before, after }: Lowering): DeclaredTable | undefined {
  const name = readName(reader, reader.alteredTableAt());
  const [old, table] = [findObject(before.tables, name), findObject(after.tables, name)];
  if (old === undefined || table === undefined) return table;
  const added = table.columns.filter((column) =>
    !old.columns.some((one) => one.name === column.name)
  );
  return { ...table, columns: [...old.columns, ...added] };
}

/** Hides the enums unless they become text, so that the rules reject them. */
function withEnums(state: DeclaredSchema, t: StatementTranslation): DeclaredSchema {
  return t.options.enums === "check" ? state : { ...state, enums: new Map() };
}
