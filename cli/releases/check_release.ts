import type { PGlite } from "@electric-sql/pglite";
import type { MigrationFile } from "../../database/migrations/files.ts";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import { nameTables } from "../../database/migrations/history.ts";
import { MigrationPlanError } from "../../database/migrations/migration_error.ts";
import { planOnline } from "../../database/migrations/online.ts";
import { readSquashed } from "../../database/migrations/squashed.ts";
import {
  type MigrationStep,
  type PlannedMigration,
  planSteps,
} from "../../database/migrations/steps.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import { quoteName } from "../../sql/quote.ts";
import type { SqlSession } from "../../sql/session.ts";
import { getName, readName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { tokenize } from "../../sql/tokenize.ts";
import { readOpenExpands } from "../schema_migration/expand_steps.ts";
import { runStatement, withMigrated } from "../schema_migration/replay.ts";
import type { ReleaseManifest } from "./release_manifest.ts";

/** Statement of the running release that a migration breaks. */
export interface ReleaseBreak {
  /** Function of the release. */
  readonly function: string;
  /** Name of the statement, or the grant that is checked. */
  readonly statement: string;
  /** `src/queries/notes.ts:12`; `undefined` for a grant. */
  readonly place: string | undefined;
  /** File of the migration. */
  readonly file: string;
  /** Line of the statement that breaks it, from 1. */
  readonly line: number;
  /** Beginning of that statement, without values. */
  readonly migration: string;
  /** What is different for the release. */
  readonly reason: string;
  /** The safe order. */
  readonly advice: string;
}

/** Result of a check. */
export interface ReleaseCheck {
  /** Statements that break, in the order of the migrations. */
  readonly breaks: readonly ReleaseBreak[];
  /** Number of statements and grants that were prepared at each schema. */
  readonly checked: number;
  /** Queries that could not be checked, with the reason; each once, although several functions use it. */
  readonly unchecked: readonly string[];
  /** Tags of the migrations that were replayed. */
  readonly pending: readonly string[];
}

/** Statement or grant of a function. */
interface Probe {
  readonly fn: string;
  readonly role: string | null;
  readonly name: string;
  readonly place: string | undefined;
  readonly sql: string;
  /** What it gives and takes at the schema of the release. */
  shape: Shape;
}

/** What a statement takes and gives. */
interface Shape {
  readonly params: readonly string[];
  /** Names and types of the columns. */
  readonly fields: readonly string[];
  /** Columns that an INSERT must give. */
  readonly required: readonly string[];
  /** Its tables whose row security applies to the role. */
  readonly secured: readonly string[];
}

/**
 * Lists the tags of the migrations that a release does not know. It knows a squashed file if it was
 * built with all that the file replaces.
 *
 * @throws {ConfigurationError} If a migration of the release is missing.
 */
export function listPending(
  { migrations }: Pick<ReleaseManifest, "migrations">,
  files: readonly Pick<MigrationFile, "tag" | "sql">[],
): string[] {
  const replaced = new Set(files.flatMap((file) => [...readSquashed(file).keys()]));
  const missing = migrations.find((tag) =>
    !replaced.has(tag) && !files.some((file) => file.tag === tag)
  );
  if (missing !== undefined) {
    throw new ConfigurationError(
      `The release was built with ${missing}.sql, which the folder does not contain: restore the file`,
    );
  }
  const known = new Set(migrations);
  return files.filter((file) => {
    const squashed = [...readSquashed(file).keys()];
    const isReplaced = squashed.length > 0 && squashed.every((tag) => known.has(tag));
    return !known.has(file.tag) && !isReplaced;
  }).map(({ tag }) => tag);
}

/**
 * Replays the migrations that a release does not know on an embedded database, and prepares every
 * statement of the release at each schema that it can meet, under the role of its function.
 *
 * @param manifest The release that runs while the migrations are applied.
 * @param migrationsFolder Absolute path of the migrations.
 * @returns The statements that break, and what was not checked.
 * @throws {ConfigurationError} If PGlite is not installed, a migration of the release is missing, or
 * a migration does not run on the embedded database.
 */
export async function checkRelease(
  manifest: ReleaseManifest,
  migrationsFolder: string,
): Promise<ReleaseCheck> {
  const { files } = readMigrationFolder(migrationsFolder);
  const pending = listPending(manifest, files);
  const plan = (tags: Iterable<string>): PlannedMigration[] => {
    const planned = planSteps(files, new Set(tags), "postgres", {});
    const findings = planned.flatMap((migration) => migration.findings);
    if (findings.some(({ severity }) => severity === "error")) {
      throw new MigrationPlanError(findings);
    }
    return planned;
  };
  const before = plan(files.map(({ tag }) => tag).filter((tag) => !pending.includes(tag)));
  const after = plan(pending);
  return await withMigrated([], async (database) => {
    for (const { file, steps } of before) {
      for (const step of steps) await runStep(database, file.path, step);
    }
    const { probes, unchecked } = await readProbes(database, manifest);
    const checked = probes.length;
    const breaks: ReleaseBreak[] = [];
    for (const migration of after) {
      // the form for filled tables has the most schemas that the release can meet
      const [online] = await planOnline([migration], toSession(database), nameTables(), 0);
      breaks.push(...await replay(database, online, probes));
    }
    return { breaks, checked, unchecked, pending };
  });
}

function toSession(database: PGlite): SqlSession {
  return {
    query: async (text, params = []) =>
      (await database.query<Record<string, unknown>>(text, [...params])).rows,
    script: async (statements) => void await database.exec(statements.join(";\n")),
  };
}

function runStep(database: PGlite, path: string, { sql, line }: MigrationStep): Promise<void> {
  return runStatement(database, { sql, path, line }, "the release cannot be checked");
}

/** Reads what the release sends, with its shape at the release's own schema. */
async function readProbes(
  database: PGlite,
  manifest: ReleaseManifest,
): Promise<{ probes: Probe[]; unchecked: string[] }> {
  const probes: Probe[] = [];
  const unchecked: string[] = [];
  for (const { name: fn, role, grants, statements, unchecked: unread } of manifest.functions) {
    unchecked.push(...unread);
    if (role === null && statements.length > 0) {
      unchecked.push(`the grants of ${fn}: it has no permission file`);
    }
    const granted = await createRole(database, role, grants);
    const wanted = [
      ...statements,
      ...granted.map((sql) => ({ name: `the grant of ${sql.table}`, place: undefined, ...sql })),
    ];
    for (const { name, place, sql } of wanted) {
      try {
        const shape = await describe(database, sql, role);
        probes.push({ fn, role, name, place, sql, shape });
      } catch (error) {
        unchecked.push(`${name}${place === undefined ? "" : ` (${place})`}: ${explain(error)}`);
      }
    }
  }
  return { probes, unchecked: [...new Set(unchecked)] };
}

/** Creates the role of a function, and returns a query for each of its grants that allows reading. */
async function createRole(
  database: PGlite,
  role: string | null,
  grants: readonly string[],
): Promise<{ table: string; sql: string }[]> {
  if (role === null) return [];
  await database.exec(`CREATE ROLE ${quoteName(role)}`).catch(() => {});
  const queries: { table: string; sql: string }[] = [];
  for (const grant of grants) {
    // a table that is not there is found by its statement
    await database.exec(grant).catch(() => {});
    const reader = parseStatement(grant);
    const on = reader.find("ON", 1);
    if (!reader.is(0, "GRANT", "SELECT") || on < 0 || reader.is(on + 1, "SEQUENCE")) continue;
    const columns = reader.is(2, "(") ? reader.text(3, reader.closing(2)) : "1";
    const table = readName(reader, on + 1).text;
    queries.push({ table, sql: `SELECT ${columns} FROM ${table}` });
  }
  return queries;
}

/** Prepares a statement under a role. */
async function describe(database: PGlite, sql: string, role: string | null): Promise<Shape> {
  const { queryParams, resultFields } = await database.describeQuery(sql);
  // privileges are checked when a plan is started
  if (/^\s*(?:select|insert|update|delete|with|merge|values)\b/i.test(sql)) {
    const explain = `EXPLAIN (GENERIC_PLAN) ${sql}`;
    // one request is one transaction: an error takes the role back
    await database.exec(
      role === null ? explain : `SET ROLE ${quoteName(role)};${explain}\n;RESET ROLE`,
    );
  }
  const types = await nameTypes(database, [
    ...queryParams.map(({ dataTypeID }) => dataTypeID),
    ...resultFields.map(({ dataTypeID }) => dataTypeID),
  ]);
  return {
    params: queryParams.map(({ dataTypeID }) => types.get(dataTypeID)!),
    fields: resultFields.map(({ name, dataTypeID }) => `${name} ${types.get(dataTypeID)}`),
    required: await findRequired(database, sql),
    secured: await findSecured(database, sql, role),
  };
}

/** Finds the tables of a statement whose policies decide which rows its role reads and writes. */
async function findSecured(database: PGlite, sql: string, role: string | null): Promise<string[]> {
  if (role === null) return [];
  const { rows } = await database.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class c WHERE relrowsecurity
      AND (relforcerowsecurity OR NOT pg_has_role($1, relowner, 'USAGE'))
      AND NOT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1)`,
    [role],
  );
  const names = listNames(sql);
  return rows.map(({ name }) => name).filter((name) => names.has(name));
}

/** Returns the words of a statement that can be names. */
function listNames(sql: string): ReadonlySet<string> {
  return new Set(
    tokenize(sql).filter(({ kind }) => kind === "word" || kind === "quoted").map(getName),
  );
}

/** Names of types; a type that is dropped and created again has another number. */
async function nameTypes(
  database: PGlite,
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const { rows } = await database.query<{ id: number; name: string }>(
    "SELECT id, format_type(id::oid, NULL) AS name FROM unnest($1::int[]) AS id",
    [[...new Set(ids)]],
  );
  return new Map(rows.map(({ id, name }) => [Number(id), name]));
}

/** Finds the columns without a default that an INSERT does not name. */
async function findRequired(database: PGlite, sql: string): Promise<string[]> {
  const reader = parseStatement(sql);
  if (!reader.is(0, "INSERT", "INTO")) return [];
  const { text, end } = readName(reader, 2);
  const open = reader.is(end, "AS") ? end + 2 : end;
  if (!reader.is(open, "(")) return [];
  const given = new Set(reader.listIn(open).map(([at]) => getName(reader.token(at)!)));
  const { rows } = await database.query<{ name: string }>(
    "SELECT attname::text AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND " +
      "NOT attisdropped AND attnotnull AND NOT atthasdef AND attidentity = ''",
    [text],
  );
  const required = rows.map(({ name }) => name).filter((name) => !given.has(name));
  if (required.length === 0) return [];
  const table = readName(reader, 2);
  const synced = (await readOpenExpands(database)).filter((each) =>
    each.table === table.name && each.schema === (table.schema ?? "public")
  ).flatMap(({ from, to }) => [from, to]);
  return required.filter((name) => !synced.includes(name));
}

/** Types that take every parameter of a type. */
const WIDER: Readonly<Record<string, readonly string[]>> = {
  smallint: ["integer", "bigint", "numeric"],
  integer: ["bigint", "numeric"],
  bigint: ["numeric"],
  "character varying": ["text"],
  text: ["character varying"],
};

/** Returns the names of columns with their types, without the difference of texts with and without a length. */
function toComparable(field: string): string {
  return field.replace(/ character varying$/, " text");
}

/** Returns what is different for a statement; `undefined` if nothing is. */
async function findReason(database: PGlite, probe: Probe): Promise<string | undefined> {
  const { sql, role, shape } = probe;
  let now: Shape;
  try {
    now = await describe(database, sql, role);
  } catch (error) {
    return explain(error);
  }
  const param = now.params.findIndex((type, at) =>
    type !== shape.params[at] && WIDER[shape.params[at]]?.includes(type) !== true
  );
  if (param >= 0) {
    return `its parameter $${param + 1} is ${now.params[param]} instead of ${shape.params[param]}`;
  }
  const field = now.fields.findIndex((one, at) =>
    toComparable(one) !== toComparable(shape.fields[at])
  );
  if (field >= 0) return `it gives ${now.fields[field]} instead of ${shape.fields[field]}`;
  const required = now.required.find((column) => !shape.required.includes(column));
  if (required !== undefined) return `it gives no ${required}, which is required`;
  const secured = now.secured.find((table) => !shape.secured.includes(table));
  return secured === undefined
    ? undefined
    : `row security of ${secured} hides rows from its role, and refuses rows that no policy allows`;
}

function explain(error: unknown): string {
  return (error as Error).message;
}

const ROWS = /^\s*(?:insert|update|delete|select|with|values)\b/i;

/** Runs a migration, and takes the statements that it breaks from the probes. */
async function replay(
  database: PGlite,
  { file, steps, atomic, isWhole }: PlannedMigration,
  probes: Probe[],
): Promise<ReleaseBreak[]> {
  const breaks: ReleaseBreak[] = [];
  const transactions = atomic ? [steps] : steps.map((step) => [step]);
  for (const transaction of transactions) {
    // the release sees nothing of a transaction before its end
    const first = new Map<Probe, MigrationStep>();
    if (isWhole) await database.exec("BEGIN");
    for (const step of transaction.flatMap(splitBlock)) {
      await runStep(database, file.path, step);
      if (isWhole || ROWS.test(step.sql)) continue;
      for (const probe of probes) {
        if (!first.has(probe) && await findReason(database, probe) !== undefined) {
          first.set(probe, step);
        }
      }
    }
    if (isWhole) await database.exec("COMMIT");
    for (const probe of [...probes]) {
      if (!isWhole && !first.has(probe)) continue;
      const reason = await findReason(database, probe);
      if (reason === undefined) continue;
      probes.splice(probes.indexOf(probe), 1);
      const step = first.get(probe) ?? findCulprit(transaction, probe);
      // a part of this package has several statements
      const isNamed = breaks.some((found) =>
        found.function === probe.fn && found.statement === probe.name &&
        found.place === probe.place && found.line === step.line
      );
      if (isNamed) continue;
      breaks.push({
        function: probe.fn,
        statement: probe.name,
        place: probe.place,
        file: file.path,
        line: step.line,
        migration: maskStatement(tokenize(step.sql)),
        reason,
        advice: getAdvice(step.sql),
      });
    }
  }
  return breaks;
}

function splitBlock(step: MigrationStep): readonly MigrationStep[] {
  return step.block ?? [step];
}

/** Finds the statement of a transaction that names a table of a probe. */
function findCulprit(steps: readonly MigrationStep[], { sql }: Probe): MigrationStep {
  const names = listNames(sql);
  const isNamed = ({ locks = [] }: MigrationStep): boolean =>
    locks.some(({ relation }) => names.has(readName(parseStatement(relation), 0).name));
  return steps.find(isNamed) ?? steps[0];
}

function getAdvice(sql: string): string {
  const reader = parseStatement(sql);
  const deploys = "deploy a release that does not need it, and then run this statement";
  if (reader.find("RENAME", 0) >= 0 || /\bSET\s+SCHEMA\b/i.test(sql)) {
    return "Expand: add the new name beside the old one, a column with trellis generate migration --expand, " +
      "or a view. Deploy a release that uses the new name. Contract: drop the old name in a later release";
  }
  if (reader.find("TYPE", 0) >= 0) {
    return "Expand: add a column of the new type. Deploy a release that writes both columns. Backfill the old " +
      "rows, deploy a release that reads the new one, and contract: drop the old column";
  }
  if (reader.find("NOT", 0) >= 0 && reader.find("ADD", 0) >= 0) {
    return "Expand: add the column with a default or without NOT NULL. Deploy a release that writes it. " +
      "Backfill the old rows. Contract: SET NOT NULL in a later release";
  }
  if (/\bROW\s+LEVEL\s+SECURITY\b/i.test(sql)) {
    return "Create the policies first, and deploy a release that sets what they read. Then enable row security";
  }
  if (reader.is(0, "REVOKE")) return `Keep the grant: ${deploys}`;
  return `Contract last: ${deploys}`;
}

/** Describes a break in three lines: the migration, the statement of the release, and the safe order. */
export function describeBreak(found: ReleaseBreak): string {
  const { file, line, migration, statement, place, reason, advice } = found;
  const at = place === undefined ? "" : ` (${place})`;
  return `${file}:${line}: ${migration}\n` +
    `    breaks ${statement}${at} of ${found.function}: ${reason}\n    ${advice}`;
}
