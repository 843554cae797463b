import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import {
  child,
  children,
  definitions,
  getText,
  strings,
  type SyntaxNode,
} from "../../distsql/server/syntax/syntax_tree.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import { splitStatements } from "../../sql/statement.ts";
import { parseSql, type SqlAccess, type SqlReader } from "./sql_access.ts";
import { printPublic, type TableName } from "./table_name.ts";
import { listOperations, type SequenceNeed, type TableNeed } from "./table_needs.ts";

/** A trigger that migrations create, with what its function needs of the role that fires it. */
export interface Trigger {
  readonly name: string;
  readonly table: TableName;
  /** The operations that fire it. */
  readonly operations: readonly DatabaseOperation[];
  readonly access: SqlAccess;
}

/** What triggers need besides a function's own tables. */
export interface TriggerNeeds {
  readonly tables: readonly TableNeed[];
  readonly sequences: readonly SequenceNeed[];
  /** Triggers whose tables are not known. */
  readonly unknown: readonly Trigger[];
}

/** Bits of `events` in a parsed trigger (PostgreSQL 18, catalog/pg_trigger.h). */
const EVENTS: readonly (readonly [bit: number, DatabaseOperation])[] = [
  [4, DatabaseOperation.Insert],
  [8, DatabaseOperation.Delete],
  [16, DatabaseOperation.Update],
];

/**
 * Reads the triggers of migrations. A function with SECURITY DEFINER runs with the rights of its
 * owner, so that its triggers are left out.
 *
 * @param migrations The SQL of the migrations, in order.
 * @param readSql Reads the tables of SQL.
 */
export async function readTriggers(
  migrations: readonly string[],
  readSql: SqlReader,
): Promise<Trigger[]> {
  const bodies = new Map<string, SqlAccess>();
  const triggers = new Map<string, Omit<Trigger, "access"> & { readonly called: string }>();
  const statements = migrations.flatMap((sql) => splitStatements(sql)).map(({ text }) => text)
    .filter((text) => /\b(?:function|trigger)\b/i.test(text));
  for (const text of statements) {
    for (const node of await parseSql(text).catch(() => [])) {
      if (node.CreateFunctionStmt) {
        const created = child(node, "CreateFunctionStmt");
        bodies.set(readName(created), readBody(created, readSql));
      } else if (node.CreateTrigStmt) {
        const created = child(node, "CreateTrigStmt");
        const relation = child(created, "relation");
        const table = {
          schema: getText(relation, "schemaname") || "public",
          name: getText(relation, "relname"),
        };
        const name = getText(created, "trigname");
        const operations = EVENTS.filter(([bit]) => (Number(created.events) & bit) !== 0)
          .map(([, operation]) => operation);
        const called = readName(created);
        triggers.set(`${printPublic(table)} ${name}`, { name, table, operations, called });
      } else if (child(node, "DropStmt").removeType === "OBJECT_TRIGGER") {
        for (const { List } of children(child(node, "DropStmt"), "objects")) {
          const [name, table, schema] = strings(children(List as SyntaxNode, "items")).reverse();
          triggers.delete(`${printPublic({ schema: schema ?? "public", name: table })} ${name}`);
        }
      }
    }
  }
  return [...triggers.values()].flatMap(({ called, ...trigger }) => {
    const access = bodies.get(called);
    return access === undefined ? [] : [{ ...trigger, access }];
  });
}

function readName(created: SyntaxNode): string {
  const [name, schema = "public"] = strings(children(created, "funcname")).reverse();
  return printPublic({ schema, name });
}

const NOTHING: SqlAccess = {
  tables: [],
  sequences: [],
  calls: [],
  ownerStatements: [],
  hasUnknownTable: false,
};

function readBody(created: SyntaxNode, readSql: SqlReader): SqlAccess {
  const options = definitions(children(created, "options"));
  const isDefiner = child(child(options.get("security") ?? {}, "arg"), "Boolean").boolval === true;
  if (isDefiner) return NOTHING;
  const lines = children(child(child(options.get("as") ?? {}, "arg"), "List"), "items");
  const [body] = strings(lines);
  return body === undefined ? NOTHING : readSql(`DO ${quoteLiteral(body)}`);
}

/**
 * Lists what triggers need of a function that changes their tables, also through other triggers.
 *
 * @param triggers The triggers of the migrations.
 * @param own What the queries of the function need.
 */
export function listTriggerNeeds(
  triggers: readonly Trigger[],
  own: readonly TableNeed[],
): TriggerNeeds {
  const tables: TableNeed[] = [];
  const sequences: SequenceNeed[] = [];
  const fired = new Set<Trigger>();
  let pending = own;
  while (pending.length > 0) {
    const changed = pending;
    const next = triggers.filter((trigger) =>
      !fired.has(trigger) && changed.some((need) => fires(trigger, need))
    );
    pending = next.flatMap((trigger) => {
      fired.add(trigger);
      const reason = `trigger ${trigger.name} of ${printPublic(trigger.table)}`;
      for (const { sequence, privilege } of trigger.access.sequences) {
        if (sequence !== undefined) sequences.push({ sequence, privilege, reason });
      }
      return trigger.access.tables.map((each) => ({ ...each, reason }));
    });
    tables.push(...pending);
  }
  return { tables, sequences, unknown: [...fired].filter(({ access }) => access.hasUnknownTable) };
}

function fires({ table, operations }: Trigger, need: TableNeed): boolean {
  return printPublic(need.table) === printPublic(table) &&
    listOperations(need.operations).some((operation) => operations.includes(operation));
}
