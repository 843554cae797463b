import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import {
  child,
  children,
  getText,
  loadPgQuery,
  type PgQuery,
  strings,
  type SyntaxNode,
} from "../../distsql/server/syntax/syntax_tree.ts";
import type { TableName } from "./table_name.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Replaces a value that is only known at run time. */
export const PLACEHOLDER = "$1";

/** A privilege on a sequence. */
export type SequencePrivilege = "USAGE" | "UPDATE";

/** A use of a sequence in SQL. */
export interface SqlSequence {
  /** `nextval` */
  readonly caller: string;
  /** The sequence; `undefined` if the text does not show which. */
  readonly sequence?: TableName;
  readonly privilege: SequencePrivilege;
}

/** A call of a function in SQL, which may be one of the project: its tables are not in the text. */
export interface SqlCall {
  readonly name: TableName;
  /** True if a FROM calls it and PostgreSQL has no such function. */
  readonly isOwn: boolean;
}

/** What statements need. */
export interface SqlAccess {
  /** One entry for each place that names a table. */
  readonly tables: readonly {
    readonly table: TableName;
    readonly operations: readonly DatabaseOperation[];
  }[];
  readonly sequences: readonly SqlSequence[];
  readonly calls: readonly SqlCall[];
  /** Statements that need the owner, or a right that no declared operation gives: `TRUNCATE notes`. */
  readonly ownerStatements: readonly string[];
  /** True if a table is unknown, or the text is not valid SQL. */
  readonly hasUnknownTable: boolean;
}

/** Reads the tables and sequences of statements, and the privileges that they need on these (PostgreSQL 18, GRANT). */
export type SqlReader = (sql: string) => SqlAccess;

/** The privileges that functions need on their sequence (PostgreSQL 18, "Sequence Manipulation Functions"). */
const SEQUENCE_FUNCTIONS: Readonly<Record<string, SequencePrivilege>> = {
  currval: "USAGE",
  nextval: "USAGE",
  setval: "UPDATE",
};

/** PostgreSQL's own functions that a FROM calls (PostgreSQL 18, "Functions and Operators", 2026-11). */
const OWN_OF_POSTGRES =
  /^(?:aclexplode|clock_timestamp|current_\w+|gen_random_uuid|generate_(?:series|subscripts)|jsonb?_\w+|now|pg_\w+|regexp_\w+|string_to_\w+|ts_\w+|unnest|version)$/;

/** Schemas of the database system. */
const CATALOG = /^(?:pg_catalog|information_schema|sys)$/;

/** The lock mode ACCESS SHARE (PostgreSQL 18, storage/lockdefs.h). */
const ACCESS_SHARE = 1;

const STATEMENT = /^(?:select|insert|update|delete|merge|with|lock|truncate|refresh)\b/i;
/** The beginning of a condition, an assignment or a result of PL/pgSQL. */
const CONDITION = /^(?:(?:if|elsif|elseif|while|return(?:\s+query)?)\b|[\w.]+\s*:=)/i;

/** Returns the expression of a statement of PL/pgSQL, also of a loop, if it contains a query. */
function readExpression(statement: string): string | undefined {
  const begin = /^for\b/i.test(statement) ? /\bin\b/i.exec(statement) : CONDITION.exec(statement);
  if (begin === null) return undefined;
  const expression = statement.slice(begin.index + begin[0].length).trimStart();
  return /\bselect\b/i.test(expression) ? expression : undefined;
}

function loadParser(): Promise<PgQuery> {
  return loadPgQuery("trellis generate permissions");
}

/** Loads the reader, which uses PostgreSQL's own parser. */
export async function loadSqlReader(): Promise<SqlReader> {
  const parser = await loadParser();
  return (sql) => readAccess(parser, sql);
}

/**
 * Parses statements with PostgreSQL's own parser.
 *
 * @returns The parse tree of each statement.
 * @throws If a statement is not valid.
 */
export async function parseSql(sql: string): Promise<SyntaxNode[]> {
  return (await loadParser()).parse(sql).map((statement) => child(statement, "stmt"));
}

/** A table that a FROM names, under the name by which a lock names it. */
interface Source {
  readonly alias: string;
  readonly operations: Set<DatabaseOperation>[];
}

function readAccess(parser: PgQuery, sql: string): SqlAccess {
  const found: { table: TableName; operations: Set<DatabaseOperation> }[] = [];
  const sequences: SqlSequence[] = [];
  const calls: SqlCall[] = [];
  const ownerStatements: string[] = [];
  let hasUnknownTable = false;
  parse(sql);
  return {
    tables: found.map(({ table, operations }) => ({ table, operations: [...operations] })),
    sequences,
    calls,
    ownerStatements,
    hasUnknownTable,
  };

  function parse(text: string): void {
    try {
      for (const statement of parser.parse(text)) {
        visit(child(statement, "stmt"), new Set());
      }
    } catch {
      hasUnknownTable = true;
    }
  }

  /** Visits a node with the names of common tables that are visible in it. */
  function visit(value: unknown, names: ReadonlySet<string>): void {
    if (Array.isArray(value)) return value.forEach((each) => visit(each, names));
    if (typeof value !== "object" || value === null) return;
    const node = value as SyntaxNode;
    if (node.SelectStmt) return void visitSelect(child(node, "SelectStmt"), names);
    if (node.InsertStmt) return visitInsert(child(node, "InsertStmt"), names);
    if (node.UpdateStmt) return visitUpdate(child(node, "UpdateStmt"), names);
    if (node.DeleteStmt) return visitDelete(child(node, "DeleteStmt"), names);
    if (node.MergeStmt) return visitMerge(child(node, "MergeStmt"), names);
    if (node.LockStmt) return visitLock(child(node, "LockStmt"));
    if (node.TruncateStmt) {
      for (const { RangeVar } of children(child(node, "TruncateStmt"), "relations")) {
        ownerStatements.push(`TRUNCATE ${getText(RangeVar as SyntaxNode, "relname")}`);
      }
      return;
    }
    if (node.RefreshMatViewStmt) {
      const view = child(child(node, "RefreshMatViewStmt"), "relation");
      return void ownerStatements.push(`REFRESH of ${getText(view, "relname")}`);
    }
    if (node.DoStmt) return visitBlock(child(node, "DoStmt"));
    if (node.FuncCall) addCall(child(node, "FuncCall"));
    for (const each of Object.values(node)) visit(each, names);
  }

  function visitSelect(select: SyntaxNode, outer: ReadonlySet<string>): Source[] {
    const names = visitWith(select, outer);
    for (const side of ["larg", "rarg"]) {
      if (select[side]) visitSelect(child(select, side), names);
    }
    const sources = children(select, "fromClause").flatMap((each) => addSource(each, names));
    for (const { LockingClause } of children(select, "lockingClause")) {
      const locked = children(LockingClause as SyntaxNode, "lockedRels").map((each) =>
        getText(child(each, "RangeVar"), "relname")
      );
      for (const { alias, operations } of sources) {
        if (locked.length > 0 && !locked.includes(alias)) continue;
        for (const each of operations) each.add(Update);
      }
    }
    const { fromClause: _, withClause: __, lockingClause: ___, larg: ____, rarg: _____, ...rest } =
      select;
    visit(rest, names);
    return sources;
  }

  /** Visits the common tables of a statement and returns the names that are visible in it. */
  function visitWith(statement: SyntaxNode, outer: ReadonlySet<string>): ReadonlySet<string> {
    const tables = children(child(statement, "withClause"), "ctes").map((each) =>
      child(each, "CommonTableExpr")
    );
    if (tables.length === 0) return outer;
    const names = new Set([...outer, ...tables.map((each) => getText(each, "ctename"))]);
    for (const each of tables) visit(each.ctequery, names);
    return names;
  }

  /** Adds an entry of FROM. */
  function addSource(entry: SyntaxNode, names: ReadonlySet<string>): Source[] {
    if (entry.RangeVar) {
      const range = child(entry, "RangeVar");
      const operations = addTable(range, names, [Select]);
      return operations === undefined ? [] : [{ alias: getAlias(range), operations: [operations] }];
    }
    if (entry.JoinExpr) {
      const { larg, rarg, ...rest } = child(entry, "JoinExpr");
      visit(rest, names);
      return [larg, rarg].flatMap((each) => addSource(each as SyntaxNode, names));
    }
    if (entry.RangeSubselect) {
      const select = child(entry, "RangeSubselect");
      const inner = child(child(select, "subquery"), "SelectStmt");
      // a lock outside of a subquery locks its tables, too
      const operations = visitSelect(inner, names).flatMap((each) => each.operations);
      return [{ alias: getText(child(select, "alias"), "aliasname"), operations }];
    }
    for (const { List } of children(child(entry, "RangeFunction"), "functions")) {
      for (const each of children(List as SyntaxNode, "items")) {
        if (each.FuncCall) addCall(child(each, "FuncCall"), true);
      }
    }
    visit(entry, names);
    return [];
  }

  function visitInsert(insert: SyntaxNode, outer: ReadonlySet<string>): void {
    const names = visitWith(insert, outer);
    const conflict = child(insert, "onConflictClause");
    const isUpsert = conflict.action === "ONCONFLICT_UPDATE";
    const reads = isUpsert || insert.returningClause !== undefined || conflict.infer !== undefined;
    addTable(child(insert, "relation"), new Set(), [
      Insert,
      ...reads ? [Select] : [],
      ...isUpsert ? [Update] : [],
    ]);
    const { relation: _, withClause: __, ...rest } = insert;
    visit(rest, names);
  }

  function visitUpdate(update: SyntaxNode, outer: ReadonlySet<string>): void {
    const names = visitWith(update, outer);
    const { relation, withClause: _, fromClause: __, ...rest } = update;
    const reads = ["whereClause", "returningClause", "fromClause"].some((part) => update[part]) ||
      hasColumn(update.targetList);
    addTable(relation as SyntaxNode, new Set(), [Update, ...reads ? [Select] : []]);
    for (const each of children(update, "fromClause")) addSource(each, names);
    visit(rest, names);
  }

  function visitDelete(remove: SyntaxNode, outer: ReadonlySet<string>): void {
    const names = visitWith(remove, outer);
    const { relation, withClause: _, usingClause: __, ...rest } = remove;
    const reads = ["whereClause", "returningClause", "usingClause"].some((part) => remove[part]);
    addTable(relation as SyntaxNode, new Set(), [Delete, ...reads ? [Select] : []]);
    for (const each of children(remove, "usingClause")) addSource(each, names);
    visit(rest, names);
  }

  function visitMerge(merge: SyntaxNode, outer: ReadonlySet<string>): void {
    const names = visitWith(merge, outer);
    const { relation, sourceRelation, withClause: _, ...rest } = merge;
    addTable(relation as SyntaxNode, new Set(), [Select, Insert, Update, Delete]);
    addSource(sourceRelation as SyntaxNode, names);
    visit(rest, names);
  }

  /** Adds the tables of LOCK: all modes but ACCESS SHARE need the right to change rows. */
  function visitLock(lock: SyntaxNode): void {
    const operation = lock.mode === ACCESS_SHARE ? Select : Update;
    for (const { RangeVar } of children(lock, "relations")) {
      addTable(RangeVar as SyntaxNode, new Set(), [operation]);
    }
  }

  /** Reads the statements of a DO block; dynamic SQL in it is unknown. */
  function visitBlock(block: SyntaxNode): void {
    const body = children(block, "args").map((each) => child(each, "DefElem"))
      .find((each) => each.defname === "as");
    const text = getText(child(child(body ?? {}, "arg"), "String"), "sval");
    if (/\bexecute\b/i.test(text)) hasUnknownTable = true;
    for (const part of text.split(/;|\b(?:begin|then|else|loop)\b/i)) {
      const statement = part.trim().replace(/^perform\b/i, "select");
      const expression = readExpression(statement);
      if (STATEMENT.test(statement)) parse(statement);
      else if (expression !== undefined) {
        parse(STATEMENT.test(expression) ? expression : `select ${expression}`);
      }
    }
  }

  function addTable(
    range: SyntaxNode,
    names: ReadonlySet<string>,
    operations: readonly DatabaseOperation[],
  ): Set<DatabaseOperation> | undefined {
    const name = getText(range, "relname");
    const schema = range.schemaname as string | undefined;
    const isCatalog = CATALOG.test(schema ?? "") || /^pg_/.test(name);
    if (isCatalog || (schema === undefined && names.has(name))) return undefined;
    const table = schema === undefined ? { name } : { schema, name };
    const known = { table, operations: new Set(operations) };
    found.push(known);
    return known.operations;
  }

  function addCall(call: SyntaxNode, isInFrom = false): void {
    const [name, schema] = strings(children(call, "funcname")).reverse();
    if (Object.hasOwn(SEQUENCE_FUNCTIONS, name)) {
      return isInFrom ? undefined : addSequence(call, name);
    }
    if (schema !== undefined && CATALOG.test(schema)) return;
    const called = schema === undefined ? { name } : { schema, name };
    calls.push({ name: called, isOwn: isInFrom && !OWN_OF_POSTGRES.test(name) });
  }

  function addSequence(call: SyntaxNode, caller: string): void {
    const [first = {}] = children(call, "args");
    const literal = first.TypeCast ? child(child(first, "TypeCast"), "arg") : first;
    const text = child(child(literal, "A_Const"), "sval").sval as string | undefined;
    const sequence = text === undefined ? undefined : parseName(text);
    sequences.push({
      caller,
      privilege: SEQUENCE_FUNCTIONS[caller],
      ...sequence && { sequence },
    });
  }
}

function getAlias(range: SyntaxNode): string {
  return getText(child(range, "alias"), "aliasname") || getText(range, "relname");
}

/** Checks whether an expression reads a column. */
function hasColumn(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  // a subquery has its own list of tables
  if ("SelectStmt" in value) return false;
  return "ColumnRef" in value || Object.values(value).some(hasColumn);
}

/** Parses a name as `regclass` does: `app."Odd.Name"`. */
function parseName(text: string): TableName | undefined {
  if (text.includes(PLACEHOLDER)) return undefined;
  const part = '(?:"((?:[^"]|"")+)"|([\\w$]+))';
  const found = new RegExp(`^\\s*${part}(?:\\.${part})?\\s*$`).exec(text);
  if (found === null) return undefined;
  const [first, last] = [[found[1], found[2]], [found[3], found[4]]].map(([quoted, plain]) =>
    quoted?.replaceAll('""', '"') ?? plain?.toLowerCase()
  );
  return last === undefined ? { name: first } : { schema: first, name: last };
}
