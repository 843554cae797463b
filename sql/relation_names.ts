import { keywordSet } from "./list_words.ts";
import { getName } from "./sql_name.ts";
import type { StatementReader } from "./statement_reader.ts";

/** Role of a name in a statement. */
export type NameRole =
  /** Table, view or existing index: can be qualified. */
  | "relation"
  /**
   * Name in the schema of its table, which cannot be qualified: a new index, a new name, an index
   * that becomes a constraint.
   */
  | "local"
  /** Constraint: unique ones also name an index. */
  | "constraint"
  /** Table name before a column. */
  | "qualifier";

/** Name with its position. */
export interface NameUse {
  /** Position of the name's token. */
  readonly at: number;
  /** Role of the name. */
  readonly role: NameRole;
}

const CLAUSES_AFTER_FROM: ReadonlySet<string> = keywordSet(`
  WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH FOR WINDOW UNION INTERSECT EXCEPT
  RETURNING SET FROM SELECT ; )
`);
const QUERY_STARTS: ReadonlySet<string> = keywordSet(
  "SELECT WITH VALUES TABLE INSERT UPDATE DELETE MERGE",
);
/** Words after the tables of TRUNCATE and LOCK. */
const AFTER_TABLES: ReadonlySet<string> = keywordSet("RESTART CONTINUE CASCADE RESTRICT IN NOWAIT");
const END_OF_USING: ReadonlySet<string> = new Set(["USING", "WHERE", "RETURNING", ")"]);
/** Objects of GRANT that are not tables. */
const NOT_TABLES: ReadonlySet<string> = keywordSet(`
  SCHEMA SEQUENCE FUNCTION PROCEDURE ROUTINE ALL DATABASE DOMAIN FOREIGN LANGUAGE
  LARGE PARAMETER TABLESPACE TYPE
`);

/**
 * Finds the unqualified names of tables, views, indexes and constraints in a statement.
 *
 * @param reader The statement.
 * @returns Each name with its position and role.
 */
export function findRelationNames(reader: StatementReader): NameUse[] {
  const uses = new Map<number, NameRole>();
  const ctes = new Set<string>();
  const aliases = new Set<string>();
  const tables = new Set<string>();
  let callLevels: Set<number> | undefined;

  collectCtes();
  collectHead();
  for (let at = 0; at < reader.size; at++) collectAt(at);
  collectQualifiers();
  return [...uses].map(([at, role]) => ({ at, role }));

  /** Adds an unqualified name, unless it is a table of the catalog. */
  function add(at: number, role: NameRole): void {
    if (!reader.isName(at) || reader.key(at + 1) === "." || uses.has(at)) return;
    const name = getName(reader.token(at)!);
    if (role === "relation" && (ctes.has(name) || /^pg_/.test(name))) return;
    uses.set(at, role);
    if (role !== "relation") return;
    tables.add(name);
    const alias = reader.skip(at + 1, "AS");
    if (reader.isName(alias) && getName(reader.token(alias)!) === name) aliases.add(name);
  }

  function addList(from: number, to: number, role: NameRole): void {
    for (const [start] of reader.list(from, to)) {
      add(reader.skip(start, "ONLY"), role);
    }
  }

  function afterExists(at: number): number {
    return reader.skip(
      reader.skip(reader.skip(at, "CONCURRENTLY"), "IF", "NOT", "EXISTS"),
      "IF",
      "EXISTS",
    );
  }

  function collectCtes(): void {
    for (let start = 0; start < reader.size; start++) {
      if (reader.key(start) !== "WITH") continue;
      for (const { name } of readWith(reader, start).items) {
        ctes.add(getName(reader.token(name)!));
      }
    }
  }

  /** Collects the names in the first words of a statement. */
  function collectHead(): void {
    const first = reader.key(0);
    if (first === "CREATE") return collectCreate();
    if (first === "ALTER") return collectAlter();
    if (first === "DROP") return collectDrop();
    if (first === "GRANT" || first === "REVOKE") return collectGrant();
    if (first === "COMMENT") return collectComment();
    if (first === "UPDATE") return add(reader.skip(1, "ONLY"), "relation");
    if (first === "COPY") return add(1, "relation");
    if (first === "TRUNCATE" || first === "LOCK") {
      const from = reader.skip(1, "TABLE");
      return addList(from, reader.findEnd(AFTER_TABLES, from + 1), "relation");
    }
    if (first === "ANALYZE" || first === "VACUUM") {
      return addList(
        reader.skip(reader.skip(1, "VERBOSE"), "ANALYZE"),
        reader.size,
        "relation",
      );
    }
  }

  function collectCreate(): void {
    const object = reader.find(
      new Set(["TABLE", "INDEX", "VIEW", "TRIGGER", "POLICY", "SEQUENCE", "FUNCTION"]),
      1,
    );
    const at = afterExists(object + 1);
    switch (reader.key(object)) {
      case "TABLE":
      case "VIEW":
        return add(at, "relation");
      case "INDEX":
        if (reader.key(at) !== "ON") add(at, "local");
        return add(reader.skip(reader.find("ON", at) + 1, "ONLY"), "relation");
      case "TRIGGER":
      case "POLICY":
        return add(reader.find("ON", at) + 1, "relation");
    }
  }

  function collectAlter(): void {
    const isRelation = reader.is(1, "TABLE") || reader.is(1, "INDEX") || reader.is(1, "VIEW");
    if (!isRelation) return;
    add(reader.skip(afterExists(2), "ONLY"), "relation");
    const rename = reader.find("RENAME", 2);
    if (rename < 0) return;
    if (reader.is(rename + 1, "TO")) add(rename + 2, "local");
    else if (reader.is(rename + 1, "CONSTRAINT")) {
      add(reader.find("TO", rename) + 1, "constraint");
    }
  }

  function collectDrop(): void {
    const isRelation = reader.is(1, "TABLE") || reader.is(1, "INDEX") || reader.is(1, "VIEW");
    if (isRelation) {
      addList(afterExists(2), reader.droppedEnd(), "relation");
    } else if (reader.is(1, "TRIGGER") || reader.is(1, "POLICY")) {
      add(reader.find("ON", 2) + 1, "relation");
    }
  }

  function collectGrant(): void {
    const on = reader.find("ON", 1);
    if (on < 0 || reader.isOneOf(on + 1, NOT_TABLES)) return;
    const end = reader.findEnd(new Set(["TO", "FROM"]), on);
    addList(reader.skip(on + 1, "TABLE"), end, "relation");
  }

  function collectComment(): void {
    const object = reader.key(2);
    if (object === "TABLE" || object === "VIEW" || object === "INDEX") add(3, "relation");
    else if (object === "CONSTRAINT") add(reader.find("ON", 3) + 1, "relation");
    else if (object === "COLUMN" && reader.nameEnd(3) === 6) uses.set(3, "relation");
  }

  /** Collects the names after a keyword anywhere in a statement. */
  function collectAt(at: number): void {
    if (reader.key(at - 1) === ".") return;
    switch (reader.key(at)) {
      case "CONSTRAINT":
        if (reader.key(at + 1) !== "TRIGGER") {
          add(reader.skip(at + 1, "IF", "EXISTS"), "constraint");
        }
        return;
      case "REFERENCES":
      case "JOIN":
        return addReference(at + 1);
      case "LIKE":
        if (reader.key(0) === "CREATE" && (reader.is(at - 1, "(") || reader.is(at - 1, ","))) {
          add(at + 1, "relation");
        }
        return;
      case "INTO":
        if (reader.is(at - 1, "INSERT") || reader.is(at - 1, "MERGE")) {
          add(at + 1, "relation");
        }
        return;
      case "USING":
        if (reader.is(at + 1, "INDEX") && reader.key(at + 2) !== "TABLESPACE") {
          add(at + 2, "local");
        }
        return;
      case "DELETE":
        return addUsing(at);
      case "UPDATE":
        if (reader.is(at - 1, "(")) add(reader.skip(at + 1, "ONLY"), "relation");
        return;
      case "SEQUENCE":
        if (reader.is(at + 1, "NAME")) add(at + 2, "local");
        return;
      case "FROM": {
        const isOperator = reader.is(at - 1, "DISTINCT") &&
          (reader.is(at - 2, "IS") || reader.is(at - 3, "IS", "NOT"));
        const isClause = !isOperator && reader.key(0) !== "REVOKE" && reader.key(0) !== "COPY";
        if (isClause && !isArgument(at)) addFrom(at + 1);
      }
    }
  }

  /** Checks whether a FROM is part of a call: `extract(day FROM at)`. */
  function isArgument(at: number): boolean {
    return (callLevels ??= findCalls()).has(at);
  }

  /** Returns the FROMs that are part of a call instead of a query. */
  function findCalls(): Set<number> {
    const found = new Set<number>();
    const levels: boolean[] = [false];
    for (let at = 0; at < reader.size; at++) {
      if (reader.key(at) === "(") {
        const isCall = reader.isName(at - 1) && !reader.isOneOf(at + 1, QUERY_STARTS) &&
          reader.key(at + 1) !== "(";
        levels.push(isCall);
      } else if (reader.key(at) === ")") levels.pop();
      else if (reader.key(at) === "FROM" && levels.at(-1)) found.add(at);
    }
    return found;
  }

  /** Adds one table of FROM or JOIN; skips functions and subqueries. */
  function addReference(at: number): void {
    at = reader.skip(reader.skip(at, "LATERAL"), "ONLY");
    while (reader.key(at) === "(" && !reader.isOneOf(at + 1, QUERY_STARTS)) at++;
    const isCall = reader.key(at + 1) === "(" && reader.key(0) !== "CREATE" &&
      reader.key(0) !== "ALTER";
    if (!isCall) add(at, "relation");
  }

  /** Adds the tables of `DELETE FROM a USING b`. */
  function addUsing(at: number): void {
    if (!reader.is(at + 1, "FROM")) return;
    const using = reader.find(END_OF_USING, at + 2);
    if (using >= 0 && reader.is(using, "USING")) addFrom(using + 1);
  }

  /** Adds the tables of a FROM clause, separated by commas. */
  function addFrom(from: number): void {
    addReference(from);
    for (
      let at = from;
      at < reader.size && !reader.isOneOf(at, CLAUSES_AFTER_FROM);
      at = reader.next(at)
    ) {
      if (reader.key(at) === ",") addReference(at + 1);
    }
  }

  /**
   * Collects qualifiers such as `users.email`, if users is a table of the statement and not an
   * alias.
   */
  function collectQualifiers(): void {
    for (let at = 0; at < reader.size; at++) {
      const isQualifier = reader.isName(at) && reader.key(at + 1) === "." &&
        reader.key(at - 1) !== "." &&
        reader.key(at + 3) !== ".";
      if (!isQualifier || uses.has(at)) continue;
      const name = getName(reader.token(at)!);
      if (tables.has(name) && !aliases.has(name)) uses.set(at, "qualifier");
    }
  }
}

/** Query of a WITH clause. */
interface WithItem {
  /** Position of its name. */
  readonly name: number;
  /** Position of the bracket before its query. */
  readonly open: number;
}

/**
 * Parses a WITH clause.
 *
 * @param reader The statement.
 * @param start Position of WITH.
 * @returns Its queries up to the first that cannot be parsed, and the position after the clause,
 * `undefined` if there is one.
 */
function readWith(
  reader: StatementReader,
  start: number,
): { readonly items: readonly WithItem[]; readonly end: number | undefined } {
  const items: WithItem[] = [];
  let name = reader.skip(start + 1, "RECURSIVE");
  for (;;) {
    const as = reader.is(name + 1, "(") ? reader.next(name + 1) : name + 1;
    const open = reader.skip(reader.skip(as + 1, "NOT"), "MATERIALIZED");
    if (!reader.isName(name) || !reader.is(as, "AS") || !reader.is(open, "(")) {
      return { items, end: undefined };
    }
    items.push({ name, open });
    const end = reader.next(open);
    if (!reader.is(end, ",")) return { items, end };
    name = end + 1;
  }
}
