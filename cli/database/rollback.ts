import { nameTables, readApplied, readUnfinished } from "../../database/migrations/history.ts";
import { type MigrationFolder, readMigrationFolder } from "../../database/migrations/folder.ts";
import { assertNothingChanged, INTERNAL, planMigrations } from "../../database/migrations/plan.ts";
import type { MigrationTarget } from "../../database/migrations/run.ts";
import { readSquashed } from "../../database/migrations/squashed.ts";
import { withSession } from "../../database/providers/client.ts";
import { findSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { hashText, type MigrationFile } from "../../database/migrations/files.ts";
import { quoteName } from "../../sql/quote.ts";
import type { Row, SqlSession } from "../../sql/session.ts";
import { quoteTable } from "../schema_migration/catalog.ts";
import { readObjects } from "../schema_migration/database_objects.ts";
import {
  getKeptPrefix,
  isKept,
  keepDropped,
  KEPT_OBJECTS,
  type KeptObject,
} from "../schema_migration/keep_dropped.ts";
import { describeDrift, toQueryable } from "./drift.ts";
import { describeUnfit, type FitCheck } from "../schema_migration/conversions.ts";
import { planRollback } from "../schema_migration/plan_rollback.ts";
import { withMigrated } from "../schema_migration/replay.ts";

/** A folder to run, and what it drops and keeps. */
export interface KeptFolder {
  readonly folder: MigrationFolder;
  /** Objects that are dropped and kept under another name. */
  readonly kept: readonly KeptObject[];
  /** Why nothing may run. */
  readonly problems: readonly string[];
}

/** Plan of a rollback of a database. */
export interface DatabaseRollback extends KeptFolder {
  /** Tags of the migrations that are rolled back. */
  readonly tags: readonly string[];
  /** Statements for PostgreSQL. */
  readonly statements: readonly string[];
}

/**
 * Plans the rollback of the migrations that a database has, and checks that everything can come back.
 * Writes nothing.
 *
 * @param to The last migration that stays; by default the one before the last.
 * @throws {ConfigurationError} If there is no such migration, or files are missing.
 * @throws {MigrationError} If an applied file has changed.
 */
export async function planDatabaseRollback(
  target: MigrationTarget,
  to: string | undefined,
): Promise<DatabaseRollback> {
  const tables = nameTables(target.migrationsTable, target.migrationsSchema);
  const folder = readMigrationFolder(target.migrationsFolder);
  return await withSession(target.database, async (session) => {
    const rows = await readApplied(session, tables) ?? [];
    const status = planMigrations(folder, rows);
    assertNothingChanged(status);
    if (status.unknown.length > 0) {
      throw new ConfigurationError(
        `The folder does not contain ${status.unknown.join(", ")}: restore the files`,
      );
    }
    const unfinished = await readUnfinished(session, tables);
    const open = unfinished.find(({ tag }) => !tag.startsWith(INTERNAL));
    if (open !== undefined) {
      throw new ConfigurationError(
        `${open.tag} is not finished: run trellis db migrate, and then roll it back`,
      );
    }
    const pending = new Set(status.pending);
    const applied = folder.files.filter(({ tag }) => !pending.has(tag));
    const at = findTarget(applied, to);
    const stay = applied.slice(0, at);
    const undo = applied.slice(at);
    const squashed = undo.find((file) => readSquashed(file).size > 0);
    if (squashed !== undefined) {
      throw new ConfigurationError(
        `${squashed.tag} replaces older migrations, which cannot be rolled back`,
      );
    }
    const times = rows.map(({ tag, appliedAt }) => [tag, appliedAt.getTime()]).sort();
    const isDistributed = target.database.provider === "distsql";
    const id = JSON.stringify([to, times]);
    const plan = await planRollback({ stay, undo, id, tables, isDistributed });
    const isBegun = unfinished.some(({ tag }) => tag === plan.down.tag);
    const problems = [...plan.problems];
    // a rollback that has begun was checked before, and the database is between both
    if (!isBegun) {
      const present = new Set((await readKept(session)).map(({ name }) => name));
      for (const { label, name, place } of plan.needed) {
        if (present.has(name)) continue;
        problems.push(`${label} was dropped by ${place} without --retain, so its values are gone`);
      }
      if (!isDistributed) {
        problems.push(
          ...describeDrift(await readObjects(toQueryable(session)), plan.before, target),
        );
      }
      // a query on another table than that of the migrations fails
      if (problems.length === 0) problems.push(...await findUnfit(session, plan.checks));
    }
    return {
      folder: { files: [...stay, ...plan.undone, plan.down], hasJournal: true, unlisted: [] },
      tags: undo.map(({ tag }) => tag),
      kept: plan.kept,
      statements: plan.statements,
      problems,
    };
  });
}

function findTarget(applied: readonly MigrationFile[], to: string | undefined): number {
  if (applied.length === 0) throw new ConfigurationError("The database has no migrations");
  if (to === undefined) return applied.length - 1;
  const at = applied.findIndex(({ tag }) => tag === to || `${tag}.sql` === to);
  if (at < 0) throw new ConfigurationError(`--to names ${to}, which is no applied migration`);
  return at + 1;
}

/** Finds columns with values that do not fit the type that they get back. */
async function findUnfit(session: SqlSession, checks: readonly FitCheck[]): Promise<string[]> {
  const problems: string[] = [];
  for (const check of checks) {
    const isUnfit = await session.query(check.sql).then(
      ([row]) => row.isUnfit === true,
      (error) => {
        // a data exception: a text that is no number
        if (findSqlState(error)?.startsWith("22") === true) return true;
        throw error;
      },
    );
    if (isUnfit) problems.push(describeUnfit(check));
  }
  return problems;
}

interface KeptName {
  /** The column, or the schema of another object. */
  readonly name: string;
  /** Schema and name of the table of a column. */
  readonly schema: string | null;
  readonly table: string | null;
}

async function readKept(session: SqlSession): Promise<KeptName[]> {
  return await session.query(KEPT_OBJECTS) as (Row & KeptName)[];
}

/**
 * Returns the migrations in the form in which dropped columns, tables, enums and sequences are kept
 * under another name.
 */
export async function keepInFolder(target: MigrationTarget): Promise<KeptFolder> {
  const tables = nameTables(target.migrationsTable, target.migrationsSchema);
  const folder = readMigrationFolder(target.migrationsFolder);
  const rows = await withSession(
    target.database,
    async (session) => await readApplied(session, tables) ?? [],
  );
  const pending = new Set(planMigrations(folder, rows).pending);
  const todo = folder.files.filter(({ tag }) => pending.has(tag));
  if (!todo.some(({ sql }) => /\bdrop\b/i.test(sql))) return { folder, kept: [], problems: [] };
  const done = folder.files.filter(({ tag }) => !pending.has(tag));
  const { files, kept, problems } = await withMigrated(
    done,
    (database) =>
      keepDropped(todo, database, {
        so:
          "the dropped values cannot be kept. Drop this in a later migration, or run it without " +
          "--retain",
      }),
  );
  const replaced = new Map(files.map((file) => [file.tag, file]));
  return {
    folder: { ...folder, files: folder.files.map((file) => replaced.get(file.tag) ?? file) },
    kept,
    problems,
  };
}

/**
 * Returns a folder whose only file drops the objects that were kept for long enough.
 *
 * @param retainMs Time in milliseconds for which dropped objects are kept.
 * @param nowMs Current time in epoch milliseconds.
 * @returns The folder, and the names of the objects; `undefined` if there are none.
 */
export async function planExpiry(
  target: MigrationTarget,
  retainMs: number,
  nowMs: number,
): Promise<{ folder: MigrationFolder; names: string[] } | undefined> {
  const tables = nameTables(target.migrationsTable, target.migrationsSchema);
  return await withSession(target.database, async (session) => {
    const rows = await readApplied(session, tables) ?? [];
    const old = rows.filter(({ appliedAt }) => appliedAt.getTime() + retainMs < nowMs);
    const prefixes = old.map(({ tag }) => getKeptPrefix(tag));
    const expired = (await readKept(session))
      .filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix)));
    if (expired.length === 0) return undefined;
    const sql = expired.map(({ name, schema, table }) =>
      table === null || schema === null || isKept(schema)
        ? `DROP SCHEMA IF EXISTS ${quoteName(name)} CASCADE`
        : `ALTER TABLE ${quoteTable({ schema, name: table })} DROP COLUMN ${quoteName(name)}`
    ).join(";\n");
    const tag = `${INTERNAL}expiry_${hashText(JSON.stringify([sql, rows])).slice(0, 8)}`;
    const file = { tag, path: `${tag}.sql`, hash: hashText(sql), sql, statements: [] };
    return {
      folder: { files: [file], hasJournal: true, unlisted: [] },
      names: expired.map(({ name }) => name),
    };
  });
}
