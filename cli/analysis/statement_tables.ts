import type { DatabaseOperation } from "../../database/table_permission.ts";
import type { Collection } from "./collect.ts";
import { CALL, type QueryDeclaration } from "./effects.ts";
import { reach } from "./reach.ts";
import type { EffectByKind } from "./reached.ts";
import type { ts } from "./typescript.ts";
import { type Evaluator, printTable } from "./values.ts";

/** The tables of a statement, and the code whose tables are unknown. */
export interface StatementTables {
  readonly grants: EffectByKind<"grant">[];
  readonly problems: { readonly node: ts.Node; readonly message: string }[];
}

const byQuery: WeakMap<QueryDeclaration, StatementTables> = new WeakMap();

/** Reads the tables of a `defineStatement` that declares none from its builder. */
export function readStatementTables(
  collection: Collection,
  evaluator: Evaluator,
  query: QueryDeclaration,
): StatementTables {
  let tables = byQuery.get(query);
  if (tables === undefined) byQuery.set(query, tables = read(collection, evaluator, query));
  return tables;
}

function read(
  collection: Collection,
  evaluator: Evaluator,
  { id, name, fn }: QueryDeclaration,
): StatementTables {
  const body = fn === undefined ? [] : [collection.units.get(fn, [CALL]).unit];
  const reached = reach(collection, evaluator, body, false);
  const accesses = reached.list("table-access");
  const known = accesses.filter(hasOperation);
  const unknown = [
    ...reached.list("opaque-sql"),
    ...reached.list("unknown-table"),
    ...accesses.filter((access) =>
      !hasOperation(access) &&
      !known.some(({ table }) => printTable(table) === printTable(access.table))
    ),
  ];
  return {
    grants: known.map(({ table, operation, definition }) => ({
      kind: "grant",
      query: id,
      table,
      operations: [operation],
      definition,
    })),
    problems: unknown.map(({ node }) => ({
      node,
      message:
        `a table of ${name} or its operation cannot be determined: list all of them in the ` +
        "option tables of the statement",
    })),
  };
}

type Access = EffectByKind<"table-access">;

function hasOperation(access: Access): access is Access & { operation: DatabaseOperation } {
  return access.operation !== undefined;
}
