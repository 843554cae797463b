import type { PGlite } from "@electric-sql/pglite";
import { readRowChange } from "../../distsql/batches/row_change.ts";
import { getTable } from "../../distsql/syntax/statement_table.ts";
import { hashText, type MigrationFile } from "../../database/migrations/files.ts";
import { type HistoryTables, removeApplied } from "../../database/migrations/history.ts";
import { ROLLBACK } from "../../database/migrations/plan.ts";
import { quoteName } from "../../sql/quote.ts";
import { readName } from "../../sql/sql_name.ts";
import { keywordSet } from "../../sql/list_words.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { type Catalog, getLabel, quoteTable } from "./catalog.ts";
import {
  checkValues,
  Conversions,
  type FitCheck,
  guardChange,
  type TypedColumn,
} from "./conversions.ts";
import { listCreated } from "./created_objects.ts";
import { findForeignKeys } from "./compare_tables.ts";
import { hasSameOrFewer, replaceEnum } from "./enum_steps.ts";
import {
  compareObjects,
  type DatabaseObjects,
  describeDifference,
  type ObjectDifference,
  readObjects,
  restoreObject,
} from "./database_objects.ts";
import { readOpenExpands } from "./expand_steps.ts";
import { listLabels, settle } from "./plan_difference.ts";
import {
  isKept,
  join,
  keepDropped,
  type KeptObject,
  type Parent,
  readParents,
  separate,
} from "./keep_dropped.ts";
import { readCatalog, readSchemas } from "./read_catalog.ts";
import { type ReplayedStatement, runStatement, withMigrated } from "./replay.ts";

/** Options of {@link planRollback}. */
export interface RollbackOptions {
  /** The migrations that stay, in order. */
  readonly stay: readonly MigrationFile[];
  /** The migrations to roll back, in the order in which they were applied. */
  readonly undo: readonly MigrationFile[];
  /** Identifies this rollback: the same for a run that continues it. */
  readonly id: string;
  /** Tables that record migrations. */
  readonly tables: HistoryTables;
  /** True for Aurora DSQL, which cannot check values and convert them in one statement. */
  readonly isDistributed: boolean;
}

/** Plan of a rollback. */
export interface RollbackPlan {
  /** The migrations that are rolled back, in the form with kept values. */
  readonly undone: readonly MigrationFile[];
  /** The file that leads back. */
  readonly down: MigrationFile;
  /** Statements of that file, and the one that deletes the records of the migrations. */
  readonly statements: readonly string[];
  /** Why the rollback is refused, object by object. */
  readonly problems: readonly string[];
  /** Objects that the migrations have dropped, which must be kept in the database. */
  readonly needed: readonly KeptObject[];
  /** Objects that the rollback drops and keeps under another name. */
  readonly kept: readonly KeptObject[];
  /** Queries that find values which do not fit the types from before the migrations. */
  readonly checks: readonly FitCheck[];
  /** The objects of the database before the rollback. */
  readonly before: DatabaseObjects;
}

/** A table, sequence, enum or column, which keeps its number when it gets another name. */
interface Identity {
  readonly id: string;
  readonly kind: "table" | "sequence" | "type" | "column";
  readonly schema: string;
  /** Name of the object, or of the table of a column. */
  readonly name: string;
  readonly column: string | null;
  readonly isGenerated: boolean;
  /** True for a column that follows the one of a parent. */
  readonly isInherited: boolean;
  /** Number of a column's type, with its length or precision. */
  readonly type: string | null;
  /** The type as PostgreSQL prints it. */
  readonly typeName: string | null;
  /** True for a column of an enum or of an array of enums. */
  readonly isEnum: boolean;
}

const OWNED = `n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  AND c.relname NOT LIKE '\\_\\_orm\\_%'`;

const IDENTITIES = `SELECT c.oid::text AS id,
  CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END AS kind, n.nspname AS schema,
  c.relname AS name, NULL AS column, false AS "isGenerated",
  false AS "isInherited", NULL AS type, NULL AS "typeName", false AS "isEnum"
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'S') AND ${OWNED}
  AND NOT EXISTS (SELECT FROM pg_depend o WHERE o.objid = c.oid AND o.refobjsubid > 0)
UNION ALL SELECT t.oid::text, 'type', n.nspname, t.typname, NULL, false, false, NULL, NULL, false
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'e'
UNION ALL SELECT c.oid || '.' || a.attnum, 'column', n.nspname, c.relname, a.attname,
  a.attgenerated <> '', a.attinhcount > 0, concat(a.atttypid, ' ', a.atttypmod),
  format_type(a.atttypid, a.atttypmod), EXISTS (SELECT FROM pg_type t WHERE t.typtype = 'e'
    AND a.atttypid IN (t.oid, t.typarray))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND ${OWNED}`;

async function readIdentities(database: PGlite): Promise<ReadonlyMap<string, Identity>> {
  const { rows } = await database.query<Identity>(IDENTITIES);
  return new Map(rows.map((row) => [row.id, row]));
}

function describe({ kind, column, ...object }: Identity): string {
  return `${kind} ${getLabel(object)}${column === null ? "" : `.${column}`}`;
}

/**
 * Plans the statements that lead back from migrations. The migrations run in an embedded database
 * in memory, where the plan is run too: its catalog must then be that before the migrations.
 *
 * @throws {ConfigurationError} If a migration does not run on the embedded database.
 */
export function planRollback(options: RollbackOptions): Promise<RollbackPlan> {
  const { stay, undo, id, tables, isDistributed } = options;
  return withMigrated(stay, async (database) => {
    const catalog = await readCatalog(database);
    const identities = await readIdentities(database);
    const target: Target = {
      objects: await readObjects(database, catalog),
      catalog,
      identities,
      parents: await readParents(database),
      conversions: new Conversions((each) => identities.has(each), isDistributed),
      isDistributed,
    };
    const problems: string[] = [];
    const replayed = await keepDropped(undo, database, {
      keeps: (each) => identities.has(each),
      so: "it cannot be rolled back",
      inspect: async (statement) => {
        const problem = await findLoss(statement, database, target);
        if (problem !== undefined) problems.push(`${getPlace(statement)} ${problem}`);
      },
    });
    const before = await readObjects(database);
    const tag = `${ROLLBACK}${hashText(id).slice(0, 8)}`;
    const way = new WayBack(database, tag, target);
    problems.push(...way.findLost(await readIdentities(database)));
    if (problems.length === 0) problems.push(...await way.run(before));
    const { statements, checks } = way;
    const rollsBack = undo.map((file) => file.tag);
    const sql = statements.map((statement) => `${statement};\n`).join("");
    return {
      undone: replayed.files,
      down: { tag, path: `${tag}.sql`, hash: hashText(sql), sql, statements, rollsBack },
      statements: undo.length === 0 ? [] : [...statements, removeApplied(tables, rollsBack)],
      problems,
      needed: replayed.kept,
      kept: way.kept,
      checks,
      before,
    };
  });
}

/** The database to which a rollback leads. */
interface Target {
  readonly objects: DatabaseObjects;
  readonly catalog: Catalog;
  readonly identities: ReadonlyMap<string, Identity>;
  readonly parents: readonly Parent[];
  /** The types that the migrations change. */
  readonly conversions: Conversions;
  readonly isDistributed: boolean;
}

function getPlace({ file: { path }, line, source }: ReplayedStatement): string {
  return `${path}:${line}: ${maskStatement(source.tokens)}`;
}

/** Finds out whether a statement of a migration changes values that a rollback cannot bring back. */
async function findLoss(
  { reader, sql }: ReplayedStatement,
  database: PGlite,
  { identities, conversions }: Target,
): Promise<string | undefined> {
  const first = reader.key(0);
  if (first === "GRANT" || first === "REVOKE") return "changes rights, which are not rolled back";
  if (reader.is(0, "DROP", "TRIGGER")) return await findEnded(reader, database);
  if (reader.is(0, "ALTER", "TABLE")) return await conversions.findLoss(reader, database);
  const change = readRowChange(sql);
  if (!CHANGES_ROWS.has(first) && change === undefined) return undefined;
  if (first === "SELECT" && SETS_SEQUENCE.test(reader.text(0, reader.size))) return undefined;
  const table = getTable(reader);
  if (table === undefined || change?.verb === "compound") return "may change rows";
  const columns = await findColumns(database, table, identities);
  const isKnown = change?.verb === "update" && change.columns.length > 0;
  const changed = isKnown ? columns.filter((name) => change.columns.includes(name)) : columns;
  return changed.length === 0
    ? undefined
    : `changes rows of ${table}, whose old values are not known (${changed.join(", ")})`;
}

/** Finds out whether a trigger that is dropped kept two columns equal until then. */
async function findEnded(reader: StatementReader, database: PGlite): Promise<string | undefined> {
  const { name } = readName(reader, reader.skip(2, "IF", "EXISTS"));
  const ended = (await readOpenExpands(database)).find((each) => name === `${each.name}_new`);
  if (ended === undefined) return undefined;
  const { from, to } = ended;
  const label = getLabel({ schema: ended.schema, name: ended.table });
  return `ends the triggers that kept ${label}.${from} and ${label}.${to} equal, so that one of them ` +
    "lacks what was written since. To go back to the old name, rename again: trellis generate " +
    `migration --rename ${label}.${to}=${from} --expand`;
}

const CHANGES_ROWS: ReadonlySet<string> = keywordSet(
  "INSERT UPDATE DELETE TRUNCATE MERGE COPY WITH SELECT DO CALL EXECUTE",
);
const SETS_SEQUENCE = /^SELECT\s+(?:pg_catalog\s*\.\s*)?setval\b/i;

/** Returns the columns of a table that exist after the rollback too. */
async function findColumns(
  database: PGlite,
  table: string,
  identities: Target["identities"],
): Promise<string[]> {
  const { rows } = await database.query<{ id: string; name: string }>(
    `SELECT attrelid || '.' || attnum AS id, attname AS name FROM pg_attribute
      WHERE attrelid = to_regclass($1) AND attnum > 0`,
    [table.split(".").map(quoteName).join(".")],
  );
  return rows.filter(({ id }) => identities.has(id)).map(({ name }) => name);
}

/** The statements that lead back, which run on the embedded database while they are planned. */
class WayBack {
  readonly statements: string[] = [];
  readonly kept: KeptObject[] = [];
  readonly checks: FitCheck[] = [];
  readonly #database: PGlite;
  readonly #tag: string;
  readonly #target: Target;

  constructor(database: PGlite, tag: string, target: Target) {
    this.#database = database;
    this.#tag = tag;
    this.#target = target;
  }

  /** Finds what the migrations have dropped and not kept. */
  findLost(now: ReadonlyMap<string, Identity>): string[] {
    return [...this.#target.identities.values()]
      .filter(({ id, kind, isGenerated }) => kind !== "type" && !isGenerated && !now.has(id))
      // a dropped table says it for its columns
      .filter(({ id, kind }) => kind !== "column" || now.has(id.split(".")[0]))
      .map((each) => `${describe(each)} was dropped, and its values were not kept`);
  }

  /**
   * Plans the statements.
   *
   * @returns Why they do not lead back.
   */
  async run(before: DatabaseObjects): Promise<string[]> {
    const { objects, catalog, isDistributed } = this.#target;
    const columns = await this.#findColumns();
    const stays = new Set([...objects].map(([label, sql]) => `${label.split(" ON ")[0]} ${sql}`));
    for (const kind of ["trigger", "policy", "rule"]) {
      for (const { label, have, want } of compareObjects(before, objects)) {
        if (have === undefined || !label.startsWith(`${kind} `)) continue;
        // a policy that hides rows is missing at no time
        if (kind === "policy" && want !== undefined) continue;
        // a policy goes with its table when that gets its old name
        if (!stays.has(`${label.split(" ON ")[0]} ${have}`)) await this.#run(`DROP ${label}`);
      }
    }
    await this.#dropViews(before);
    await this.#dropAdded();
    await this.#rename();
    await this.#join();
    await this.#restore("function", ({ want }) => want !== undefined);
    const now = await readCatalog(this.#database);
    for (const table of now.tables.filter(({ hasRowSecurity }) => hasRowSecurity)) {
      const isSecured = catalog.tables.some((each) =>
        getLabel(each) === getLabel(table) && each.hasRowSecurity
      );
      if (!isSecured) {
        await this.#run(`ALTER TABLE ${quoteTable(table)} DISABLE ROW LEVEL SECURITY`);
      }
    }
    this.checks.push(...checkValues(now, catalog, columns));
    await this.#replaceEnums(now);
    const { steps, problems } = await settle(this.#database, {
      want: catalog,
      created: listCreated(catalog),
      concurrent: new Set(),
      decisions: { renames: [], drops: listLabels(now), keeps: new Set() },
      isPartial: true,
    });
    if (problems.length > 0) return [...problems];
    for (const { sql } of steps) {
      const guarded = guardChange(sql, (table, column) => columns.get(`${table}.${column}`));
      this.statements.push(guarded === undefined || isDistributed ? sql : guarded.sql);
      if (guarded !== undefined) this.checks.push(guarded.check);
    }
    await this.#restore("function", ({ want }) => want === undefined);
    // columns of old tables have their old types now
    await this.#dropObjects("type");
    await this.#restore("index of view");
    for (const name of await readSchemas(this.#database)) {
      if (!catalog.schemas.includes(name)) await this.#run(`DROP SCHEMA ${quoteName(name)}`);
    }
    await this.#restore("policy");
    await this.#restore("trigger");
    return (await this.#compare())
      .map((each) => describeDifference(each, "the result", "the migrations that stay"));
  }

  /** Takes back values of enums. Columns that are kept may have them, and keep the type. */
  async #replaceEnums(now: Catalog): Promise<void> {
    for (const want of this.#target.catalog.enums) {
      const old = now.enums.find((each) => getLabel(each) === getLabel(want));
      if (old === undefined || !hasSameOrFewer(want, old)) continue;
      for (const { sql } of replaceEnum(now, this.#target.catalog, [old, want])) {
        if (!sql.startsWith("DROP TYPE ")) await this.#run(sql);
        else await this.#run(sql).catch(() => this.#drop(sql));
      }
    }
  }

  /** Returns the present columns by the names that they had before the migrations. */
  async #findColumns(): Promise<ReadonlyMap<string, TypedColumn>> {
    const { identities } = this.#target;
    const columns = new Map<string, TypedColumn>();
    for (
      const { id, column, typeName, ...now } of (await readIdentities(this.#database)).values()
    ) {
      const old = identities.get(id);
      if (old === undefined || column === null || typeName === null) continue;
      columns.set(`${getLabel(old)}.${old.column}`, { ...now, column, typeName });
    }
    return columns;
  }

  async #compare(): Promise<ObjectDifference[]> {
    return compareObjects(await readObjects(this.#database), this.#target.objects);
  }

  /** Restores the objects of a kind whose definitions are statements. */
  async #restore(
    kind: string,
    isMeant: (difference: ObjectDifference) => boolean = () => true,
  ): Promise<void> {
    for (const each of await this.#compare()) {
      if (!each.label.startsWith(`${kind} `) || !isMeant(each)) continue;
      for (const sql of restoreObject(each)) await this.#run(sql);
    }
  }

  async #run(sql: string): Promise<void> {
    await runStatement(this.#database, { sql, path: this.#tag, line: 1 }, "nothing is rolled back");
    this.statements.push(sql);
  }

  /** Drops an object that the migrations have added, and keeps its values. */
  async #drop(sql: string): Promise<void> {
    const file = { tag: this.#tag, path: this.#tag, hash: "", sql, statements: [] };
    const { files, kept } = await keepDropped([file], this.#database, {
      so: "nothing is rolled back",
    });
    this.statements.push(files[0].sql.replace(/;$/, ""));
    this.kept.push(...kept);
  }

  async #dropViews(before: DatabaseObjects): Promise<void> {
    const { views } = await readCatalog(this.#database);
    const converted = await this.#findConvertedViews();
    let left = views.filter((view) => {
      const label = `view ${getLabel(view)}`;
      return converted.has(getLabel(view)) || before.get(label) !== this.#target.objects.get(label);
    });
    // a view may use another one
    for (let count = Infinity; left.length < count;) {
      count = left.length;
      const rest: typeof left = [];
      for (const view of left) {
        const kind = view.isMaterialized ? "MATERIALIZED VIEW" : "VIEW";
        await this.#run(`DROP ${kind} ${quoteTable(view)}`).catch(() => rest.push(view));
      }
      left = rest;
    }
  }

  /** Finds the views of columns that get another type, which PostgreSQL refuses until they are dropped. */
  async #findConvertedViews(): Promise<Set<string>> {
    const { identities } = this.#target;
    const columns = [...(await readIdentities(this.#database)).values()]
      .filter(({ id, type }) => type !== (identities.get(id)?.type ?? type));
    const { rows } = await this.#database.query<{ schema: string; name: string }>(
      `WITH RECURSIVE used AS (
        SELECT r.ev_class AS id FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
          WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
          AND concat(d.refobjid, '.', d.refobjsubid) = ANY ($1::text[])
        UNION SELECT r.ev_class FROM used JOIN pg_depend d ON d.refobjid = used.id
          JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
      ) SELECT n.nspname AS schema, c.relname AS name FROM used
        JOIN pg_class c ON c.oid = used.id JOIN pg_namespace n ON n.oid = c.relnamespace`,
      [columns.map(({ id }) => id)],
    );
    return new Set(rows.map(getLabel));
  }

  async #dropAdded(): Promise<void> {
    const { identities } = this.#target;
    const added = [...(await readIdentities(this.#database)).values()]
      .filter(({ id }) => !identities.has(id));
    const catalog = await readCatalog(this.#database);
    const find = ({ schema, name }: Identity) =>
      catalog.tables.find((table) => table.schema === schema && table.name === name);
    const isWhole = ({ id }: Identity) => identities.has(id.split(".")[0]);
    const columns = added.filter((each) =>
      each.kind === "column" && !each.isInherited && isWhole(each)
    );
    const tables = added.filter(({ kind }) => kind === "table");
    const keys = new Set(
      [...columns, ...tables].flatMap((each) => {
        const table = find(each);
        return table === undefined
          ? []
          : findForeignKeys(catalog, table, each.column ?? undefined).map(({ sql }) => sql);
      }),
    );
    for (const sql of keys) await this.#run(sql);
    for (const each of columns) {
      const sql = `ALTER TABLE ${quoteTable(each)} DROP COLUMN ${quoteName(each.column!)}`;
      if (each.isGenerated) await this.#run(sql);
      else await this.#drop(sql);
    }
    for (const kind of ["table", "sequence"] as const) await this.#dropObjects(kind);
  }

  /** Drops the tables, sequences or enums that the migrations have added. */
  async #dropObjects(kind: "table" | "sequence" | "type"): Promise<void> {
    const { identities, catalog } = this.#target;
    // an enum that lost values was created again
    const stays = new Set(kind === "type" ? catalog.enums.map(getLabel) : []);
    for (const each of (await readIdentities(this.#database)).values()) {
      if (each.kind !== kind || identities.has(each.id) || stays.has(getLabel(each))) continue;
      await this.#drop(`DROP ${upper(kind)} ${quoteTable(each)}`);
    }
  }

  /** Gives partitions and tables that inherit their old parents. */
  async #join(): Promise<void> {
    const { parents } = this.#target;
    const toKey = (each: Parent) => JSON.stringify(each);
    const lead = async (from: readonly Parent[], to: readonly Parent[], way: typeof join) => {
      const present = new Set(to.map(toKey));
      for (const each of from) if (!present.has(toKey(each))) await this.#run(way(each));
    };
    await lead(await readParents(this.#database), parents, separate);
    await lead(parents, await readParents(this.#database), join);
  }

  /** Gives the objects their old names, also those that the migrations have kept. */
  async #rename(): Promise<void> {
    const { identities } = this.#target;
    const schemas = new Set(await readSchemas(this.#database));
    const present = await readIdentities(this.#database);
    // an enum that was created again gets its values back instead
    const enums = new Set(
      [...present.values()].filter(({ kind }) => kind === "type").map((each) => getLabel(each)),
    );
    for (const now of present.values()) {
      const old = identities.get(now.id);
      if (old === undefined || now.kind === "column") continue;
      if (now.kind === "type" && isKept(now.schema) && enums.has(getLabel(old))) {
        // columns that come back may have it
        await this.#run(`DROP TYPE ${quoteTable(now)}`).then(
          () => this.#run(`DROP SCHEMA ${quoteName(now.schema)}`),
          () => {},
        );
        continue;
      }
      const kind = upper(now.kind);
      if (old.schema !== now.schema) {
        if (!schemas.has(old.schema)) await this.#run(`CREATE SCHEMA ${quoteName(old.schema)}`);
        schemas.add(old.schema);
        await this.#run(`ALTER ${kind} ${quoteTable(now)} SET SCHEMA ${quoteName(old.schema)}`);
        if (isKept(now.schema)) await this.#run(`DROP SCHEMA ${quoteName(now.schema)}`);
      }
      if (old.name !== now.name) {
        const moved = quoteTable({ ...old, name: now.name });
        await this.#run(`ALTER ${kind} ${moved} RENAME TO ${quoteName(old.name)}`);
      }
    }
    for (const now of (await readIdentities(this.#database)).values()) {
      const old = identities.get(now.id);
      if (old === undefined || now.column === null || now.isInherited) continue;
      if (old.column === now.column) continue;
      await this.#run(
        `ALTER TABLE ${quoteTable(now)} RENAME COLUMN ${quoteName(now.column)} ` +
          `TO ${quoteName(old.column!)}`,
      );
    }
    const owned = listSequences(await readCatalog(this.#database));
    for (const [column, old] of listSequences(this.#target.catalog)) {
      const now = owned.get(column);
      if (now === undefined || now.name === old.name) continue;
      await this.#run(`ALTER SEQUENCE ${quoteTable(now)} RENAME TO ${quoteName(old.name)}`);
    }
  }
}

/** Lists the sequences of serial and identity columns by their columns. */
function listSequences({ tables }: Catalog) {
  return new Map(
    tables.flatMap((table) =>
      table.columns.flatMap(({ name, ownSequence }) =>
        ownSequence === null ? [] : [[`${getLabel(table)}.${name}`, ownSequence] as const]
      )
    ),
  );
}

function upper(word: string): string {
  return word.toUpperCase();
}
