import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import process from "node:process";
import {
  closeDrizzleClient,
  getDrizzleClient,
  redirectClients,
} from "../../database/providers/client.ts";
import type { DatabaseConfig, DatabaseSettings } from "../../database/config/config.ts";
import type { DistSqlOptions } from "../../distsql/translate/context/options.ts";
import { executeRows } from "../../database/session/execute.ts";
import { formatPlanFinding } from "../../sql/plan_finding.ts";
import { type MigrationTarget, runMigrations } from "../../database/migrations/run.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DistSqlServer } from "../../distsql/server/server.ts";
import { count } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";
import { copyRows } from "./copy_rows.ts";
import { findHeld, type HeldMigrations } from "./held_migrations.ts";
import { runSeed } from "./seed.ts";

/**
 * The database of the functions: embedded Postgres, the DSQL stand-in, or the one in the
 * environment.
 */
export type DatabaseChoice = "embedded" | "distsql" | "env";

/** Options of {@link openLocalDatabase}. */
export interface LocalDatabaseOptions {
  readonly choice: DatabaseChoice;
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of the folder that keeps the data. */
  readonly dataDir: string;
  /** Absolute path of the migrations; the folder may be missing. */
  readonly migrationsDir: string;
  /** Translation options for the local Aurora DSQL server. */
  readonly translation?: DistSqlOptions;
  /** Absolute path of the seed. */
  readonly seedFile?: string;
  /** Deletes existing data. */
  readonly reset?: boolean;
  /** Runs a step, and shows its label if it takes long. */
  readonly step: Output["step"];
  /** Called with an embedded database after it was opened. */
  readonly onOpened?: (database: PGlite) => void;
  /** Called with each finding of the migration plan. */
  readonly onWarning?: (what: string) => void;
}

/** An open database. */
export interface LocalDatabase {
  /** `embedded Postgres, 2 migrations applied, seeded` */
  readonly summary: string;
  /** Connection for the table browser; omitted for the database in the environment. */
  readonly config?: DatabaseConfig;
  /** Migrations that were held when the database was opened. */
  readonly held?: HeldMigrations;
  /**
   * Applies new migrations, unless they must be confirmed; omitted for the database in the
   * environment.
   *
   * @param isConfirmed True applies them all, and builds the database again if applied files have changed.
   * @throws {MigrationError} If a migration fails.
   */
  migrate?(isConfirmed: boolean): Promise<MigrationOutcome>;
  /**
   * Opens it before the first request, which would wait for seconds; omitted for the database in the environment.
   */
  open?(): Promise<void>;
  close(): Promise<void>;
}

/** The outcome of applying migrations. */
export interface MigrationOutcome {
  /** The number of applied files. */
  readonly applied: number;
  /** What waits for a confirmation. */
  readonly held?: HeldMigrations;
  /** Set if the database was built again: the rows that it lacks, one sentence each. */
  readonly lost?: readonly string[];
}

/** Sets environment variables for the functions. */
export type Provide = (values: Readonly<Record<string, string | undefined>>) => void;

const ROLE = "trellis_dev";

/**
 * Opens the local database of a project, applies its migrations, and seeds it if it is new.
 *
 * @param provide Sets the connection variables before any code of the project runs.
 * @throws {MigrationError} If a migration fails.
 * @throws {ConfigurationError} If the seed fails or is missing.
 */
export async function openLocalDatabase(
  options: LocalDatabaseOptions,
  provide: Provide,
): Promise<LocalDatabase> {
  const { choice, dataDir, reset, step } = options;
  if (choice === "env") {
    return {
      summary: "the one in the environment (trellis db migrate applies migrations)",
      close: closeAll,
    };
  }
  const own = join(dataDir, choice === "embedded" ? "pg" : "distsql");
  const folder = choice === "embedded" ? process.env.DATABASE_URL || own : own;
  const marker = `${own}.seeded`;
  if (reset) {
    if (folder !== own) {
      throw new ConfigurationError(
        `--reset only deletes data in ${dataDir}. DATABASE_URL ` +
          `points to ${folder}: delete that folder yourself`,
      );
    }
    for (const each of [folder, getNext(own), getBefore(own)]) {
      rmSync(each, { recursive: true, force: true });
    }
    rmSync(marker, { force: true });
  }
  mkdirSync(dataDir, { recursive: true });
  // a rebuild was killed between its two last steps
  if (!existsSync(own) && existsSync(getNext(own)) && existsSync(getBefore(own))) {
    renameSync(getBefore(own), own);
  }
  const opened = choice === "embedded"
    ? openEmbedded(folder, provide)
    : await openStandIn(folder, provide);
  const { config, server } = opened;
  async function close(): Promise<void> {
    await closeDrizzleClient(config);
    await closeAll();
    redirectClients(undefined);
    await server?.stop();
  }
  const target = {
    migrationsFolder: options.migrationsDir,
    database: config,
    translation: options.translation,
  };
  async function reportOpened(): Promise<void> {
    if (choice === "embedded") options.onOpened?.(await openPglite(config));
  }
  async function open(): Promise<void> {
    // kept open: an embedded database cannot be opened twice, and opening is slow
    await step("Opening the database", () => getDrizzleClient(config));
    await reportOpened();
  }
  const canRebuild = choice === "embedded" && folder === own;
  async function migrate(isRunning: boolean, isConfirmed: boolean): Promise<MigrationOutcome> {
    if (!existsSync(options.migrationsDir)) return { applied: 0 };
    const held = await findHeld({ target, isRunning, canRebuild });
    if (held !== undefined && !isConfirmed) return { applied: 0, held };
    if (held?.isRebuild) {
      const outcome = await rebuildEmbedded(own, target);
      await reportOpened();
      return outcome;
    }
    const { applied, findings } = await runMigrations(target);
    for (const finding of findings) options.onWarning?.(formatPlanFinding(finding));
    if (server !== undefined) await grantLocalRole(config, server);
    return { applied };
  }
  let held: HeldMigrations | undefined;
  const parts = [
    choice === "embedded" ? "embedded Postgres" : "local Aurora DSQL server",
  ];
  try {
    const hasMigrations = existsSync(options.migrationsDir);
    if (hasMigrations || options.seedFile !== undefined || server !== undefined) {
      await open();
    }
    if (hasMigrations) {
      const outcome = await step("Applying migrations", () => migrate(false, false));
      held = outcome.held;
      parts.push(describeOutcome(outcome));
    }
    if (options.seedFile !== undefined && !existsSync(marker)) {
      const seed = {
        file: options.seedFile,
        root: options.root,
        outDir: join(dataDir, "seed"),
        config,
      };
      await step("Seeding the database", () => runSeed(seed));
      writeFileSync(marker, "");
      parts.push("seeded");
    }
    if (server !== undefined) await grantLocalRole(config, server);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    summary: parts.join(", "),
    config,
    held,
    migrate: (isConfirmed) => migrate(true, isConfirmed),
    open,
    close,
  };
}

function describeOutcome({ applied, held }: MigrationOutcome): string {
  if (held !== undefined) return "migrations wait for your confirmation";
  return applied === 0 ? "migrations up to date" : `${count(applied, "migration")} applied`;
}

/**
 * Builds an embedded database again from its migrations, with the rows that fit. The present one
 * stays in the folder `<folder>.before`, and is not changed if a migration fails. All clients are closed.
 *
 * @param folder The database's folder.
 * @param target The present database.
 */
async function rebuildEmbedded(folder: string, target: MigrationTarget): Promise<MigrationOutcome> {
  const next = getNext(folder);
  const before = getBefore(folder);
  const database = { provider: "embedded-pg", connectionString: next } as const;
  rmSync(next, { recursive: true, force: true });
  try {
    const { applied } = await runMigrations({ ...target, database });
    const lost = await copyRows(await openPglite(target.database), await openPglite(database));
    await closeDrizzleClient(database);
    await closeDrizzleClient(target.database);
    await closeAll();
    rmSync(before, { recursive: true, force: true });
    renameSync(folder, before);
    renameSync(next, folder);
    await getDrizzleClient(target.database);
    return { applied, lost };
  } finally {
    await closeDrizzleClient(database);
    rmSync(next, { recursive: true, force: true });
  }
}

/** Returns the folder in which a database is built. */
function getNext(folder: string): string {
  return `${folder}.next`;
}

/** Returns the folder of the previous database. */
function getBefore(folder: string): string {
  return `${folder}.before`;
}

async function openPglite(config: DatabaseConfig): Promise<PGlite> {
  const client: object = await getDrizzleClient(config);
  return (client as { readonly $client: PGlite }).$client;
}

interface Opened {
  readonly config: DatabaseConfig;
  readonly server?: DistSqlServer;
}

function openEmbedded(folder: string, provide: Provide): Opened {
  provide({ DATABASE_PROVIDER: "embedded-pg", DATABASE_URL: folder });
  return { config: { provider: "embedded-pg", connectionString: folder } };
}

async function openStandIn(folder: string, provide: Provide): Promise<Opened> {
  const { startDistSqlServer } = await import("../../distsql/server/server.ts");
  const server = await startDistSqlServer({ backend: { dataDir: folder } });
  const endpoint = `localhost:${server.port}`;
  provide({
    DATABASE_PROVIDER: "distsql",
    DATABASE_URL: undefined,
    DATABASE_ENDPOINT: endpoint,
    DATABASE_REGION: server.region,
    DATABASE_USERNAME: ROLE,
    DATABASE_CA: server.ca,
    // tokens are signed for the local server, not with the developer's credentials
    AWS_ACCESS_KEY_ID: server.principal.accessKeyId,
    AWS_SECRET_ACCESS_KEY: server.principal.secretAccessKey,
    AWS_SESSION_TOKEN: undefined,
    AWS_PROFILE: undefined,
  });
  redirectClients(refuseOthers);
  const config: DatabaseConfig = {
    provider: "distsql",
    endpoint,
    region: server.region,
    isAdmin: true,
    ca: server.ca,
    instrument: false,
  };
  return { config, server };
}

/**
 * Refuses clients that would not reach the local Aurora DSQL server.
 *
 * @throws {ConfigurationError} If a client has another provider.
 */
function refuseOthers({ provider }: DatabaseSettings): void {
  if (provider === "distsql") return;
  throw new ConfigurationError(
    `With --db distsql, clients must have the provider "distsql", and this one has ${
      JSON.stringify(provider)
    }. Select "distsql" in its configuration if DATABASE_ENDPOINT is set, as projects of ` +
      `trellis init --database aurora-dsql do, or start trellis dev without --db distsql`,
  );
}

/** Grants the shared local role access to all rows. Deployed functions have one role each. */
async function grantLocalRole(config: DatabaseConfig, server: DistSqlServer): Promise<void> {
  const db = await getDrizzleClient(config);
  const roles = await executeRows(db, sql`SELECT rolname FROM pg_roles WHERE rolname = ${ROLE}`);
  if (roles.length === 0) await db.execute(sql.raw(`CREATE ROLE ${ROLE} WITH LOGIN`));
  const { arn } = server.principal;
  const mappings = await executeRows(
    db,
    sql`SELECT arn FROM sys.iam_pg_role_mappings WHERE pg_role_name = ${ROLE} AND arn = ${arn}`,
  );
  if (mappings.length === 0) await db.execute(sql.raw(`AWS IAM GRANT ${ROLE} TO '${arn}'`));
  await db.execute(
    sql.raw(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${ROLE}`),
  );
}

/**
 * Closes all clients. Functions may have opened several, and each call closes one: the default,
 * which is the oldest.
 */
async function closeAll(): Promise<void> {
  for (let i = 0; i < 16; i++) await closeDrizzleClient();
}

/**
 * Returns true if the environment configures a database server. A folder is an embedded database,
 * which `trellis dev` migrates itself.
 */
export function namesServer(): boolean {
  const { DATABASE_PROVIDER, DATABASE_URL = "", DATABASE_ENDPOINT, DATABASE_HOST } = process.env;
  return Boolean(DATABASE_ENDPOINT || DATABASE_HOST) ||
    (DATABASE_PROVIDER || "embedded-pg") !== "embedded-pg" ||
    /^(?:postgres|postgresql|rds-data):/.test(DATABASE_URL);
}
