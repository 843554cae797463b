import { hashText, type MigrationFile } from "../../database/migrations/files.ts";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import type { MigrationStatus } from "../../database/migrations/plan.ts";
import type { MigrationTarget } from "../../database/migrations/run.ts";
import { readRowChange } from "../../distsql/batches/row_change.ts";
import { getTable } from "../../distsql/syntax/statement_table.ts";
import { describeFinding, type PlanFinding } from "../../sql/plan_finding.ts";
import { getLabel, quoteTable } from "../schema_migration/catalog.ts";
import {
  compareObjects,
  type DatabaseObjects,
  describeDifference,
  readObjects,
} from "../schema_migration/database_objects.ts";
import { type Queryable, readCatalog } from "../schema_migration/read_catalog.ts";
import {
  listStatements,
  type ReplayedStatement,
  withMigrated,
} from "../schema_migration/replay.ts";

const LATE = "migration-late";

/**
 * Tries migrations that come before applied ones in both orders, as two branches leave them: that of
 * the folder, which a new database has, and that of this database. If both lead to the same objects
 * and change no rows of the same tables, the warning about the order is left out. If the objects
 * differ, it becomes an error.
 *
 * @param status The state of the database.
 * @returns The state with these findings.
 */
export async function proveOrder(
  { migrationsFolder }: Pick<MigrationTarget, "migrationsFolder">,
  status: MigrationStatus,
): Promise<MigrationStatus> {
  const late = status.findings.find(({ rule }) => rule === LATE);
  if (late === undefined) return status;
  const { files } = readMigrationFolder(migrationsFolder);
  const pending = new Set(status.pending);
  const applied = files.filter(({ tag }) => !pending.has(tag));
  const last = files.findLastIndex(({ tag }) => !pending.has(tag));
  const first = files.findIndex(({ tag }) => pending.has(tag));
  const own = files.slice(first, last).filter(({ tag }) => pending.has(tag));
  const others = files.slice(first, last + 1).filter(({ tag }) => !pending.has(tag));
  const finding = await compareOrders(
    files,
    [...applied, ...files.filter(({ tag }) => pending.has(tag))],
    findShared(own, others),
    late,
  );
  const findings = status.findings.flatMap((each) => each === late ? finding ?? [] : each);
  const warnings = findings.filter(({ severity }) => severity === "warning").map(describeFinding);
  return { ...status, findings, warnings };
}

async function compareOrders(
  folder: readonly MigrationFile[],
  database: readonly MigrationFile[],
  shared: Shared,
  late: PlanFinding,
): Promise<PlanFinding | undefined> {
  const places = shared.places.length === 0 ? "" : ` See ${shared.places.join(", ")}.`;
  const refuse = (message: string): PlanFinding => ({
    severity: "error",
    rule: "migration-order",
    message,
    advice: "Give the later branch's files the next numbers, and change them so that they work " +
      `after the others.${places}`,
  });
  try {
    const expected = await withMigrated(folder, readAll);
    const actual = await withMigrated(database, readAll).catch((error: Error) => error);
    if (actual instanceof Error) {
      return refuse(`does not run in the order of this database: ${actual.message}`);
    }
    const differences = compareObjects(actual, expected)
      .map((each) => describeDifference(each, "the order of this database", "that of the folder"));
    if (differences.length > 0) return refuse(differences.join("; "));
  } catch {
    // without an embedded database, and with migrations that it cannot run, nothing is known
    return late;
  }
  return shared.changesRows
    ? { ...late, message: `${late.message}, and both change rows of the same table.${places}` }
    : undefined;
}

/** Reads the objects of a database, and the rows that its migrations insert. */
async function readAll(database: Queryable): Promise<DatabaseObjects> {
  const catalog = await readCatalog(database);
  const objects = new Map(await readObjects(database, catalog));
  for (const table of catalog.tables) {
    const { rows: [{ rows }] } = await database.query<{ rows: string | null }>(
      `SELECT string_agg(to_jsonb(t)::text, ' ' ORDER BY to_jsonb(t)::text) AS rows
        FROM ${quoteTable(table)} AS t`,
    );
    objects.set(`rows of ${getLabel(table)}`, hashText(rows ?? ""));
  }
  return objects;
}

/** Statements of both branches about the same tables. */
interface Shared {
  /** `0013_tags.sql:4` */
  readonly places: readonly string[];
  /** True if both branches change rows of the same table. */
  readonly changesRows: boolean;
}

const ROWS = /^\s*(?:INSERT|UPDATE|DELETE|TRUNCATE|MERGE|COPY|WITH|SELECT|DO|CALL)\b/i;

function findShared(own: readonly MigrationFile[], others: readonly MigrationFile[]): Shared {
  const [left, right] = [own, others].map((files) => files.flatMap(listStatements));
  const pairs = left.flatMap((a) => right.filter((b) => isShared(a, b)).map((b) => [a, b]));
  const places = pairs.flat().map(({ file: { path }, line }) => `${path}:${line}`);
  return {
    places: [...new Set(places)].sort(),
    changesRows: pairs.some((pair) => pair.every(changesRows)),
  };
}

function isShared(a: ReplayedStatement, b: ReplayedStatement): boolean {
  const [left, right] = [getTable(a.reader), getTable(b.reader)];
  // a block can change any table
  if (left === undefined || right === undefined) return changesRows(a) && changesRows(b);
  return left.replace(/^public\./, "") === right.replace(/^public\./, "");
}

function changesRows({ reader, sql }: ReplayedStatement): boolean {
  return ROWS.test(reader.text(0, reader.size)) || readRowChange(sql) !== undefined;
}
