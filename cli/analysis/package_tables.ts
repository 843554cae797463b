import { DatabaseOperation } from "../../database/table_permission.ts";
import { IDEMPOTENCY_TABLE } from "../../idempotency/migration.ts";
import { PARTS_TABLE, POSITIONS_TABLE } from "../../jobs/changes/migration.ts";
import { SUBSCRIPTION_TABLE } from "../../realtime/migration.ts";
import type { Collector } from "./collector.ts";
import { isUnused, NONE, type Path, type QueryDeclaration } from "./effects.ts";
import type { ts } from "./typescript.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Use of a table of this package by a function of it. */
interface PackageQuery {
  readonly tables: readonly string[];
  readonly operations: readonly DatabaseOperation[];
  /** True if the function only creates a value, whose use runs the queries. */
  readonly isDeferred?: boolean;
}

const RECORDS: PackageQuery = {
  tables: [IDEMPOTENCY_TABLE],
  operations: [Select, Insert, Update, Delete],
  isDeferred: true,
};

/** Functions of this package that use tables of this package, by name. */
export const PACKAGE_QUERIES: ReadonlyMap<string, PackageQuery> = new Map([
  ["createTransactionStore", RECORDS],
  ["createLeaseStore", RECORDS],
  [
    "createConnectionStore",
    {
      tables: [SUBSCRIPTION_TABLE],
      operations: [Select, Insert, Update, Delete],
      isDeferred: true,
    },
  ],
  [
    "createConnectionTickets",
    {
      tables: [SUBSCRIPTION_TABLE],
      operations: [Select, Insert, Delete],
      isDeferred: true,
    },
  ],
  ["removeExpiredRecords", { tables: [IDEMPOTENCY_TABLE], operations: [Select, Delete] }],
  [
    "defineChangeStreamHandler",
    {
      tables: [POSITIONS_TABLE, PARTS_TABLE],
      operations: [Select, Insert, Update, Delete],
      isDeferred: true,
    },
  ],
]);

const byNode: WeakMap<ts.Node, QueryDeclaration> = new WeakMap();

/** Collects the use of a function that runs queries of this package. */
export function collectPackageQuery(
  c: Collector,
  node: ts.Node,
  name: string,
  path: Path,
): void {
  const { tables, operations, isDeferred } = PACKAGE_QUERIES.get(name)!;
  c.unknown(node, path);
  if (isDeferred && isUnused(path.slice(1))) return;
  let query = byNode.get(node);
  if (query === undefined) {
    const declared = c.units.get(node, [NONE]).unit;
    query = { id: c.queries.length, name, node, tables: declared, body: [] };
    byNode.set(node, query);
    c.queries.push(query);
  }
  c.emit({ kind: "query", query });
  for (const table of tables) {
    c.emit({ kind: "grant", query: query.id, table: { name: table }, operations });
  }
}
