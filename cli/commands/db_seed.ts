import { join, resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { MigrationTarget } from "../../database/migrations/run.ts";
import type { SqlSession } from "../../sql/session.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import { confirmRemote, isLocal, YES_OPTION } from "../database/confirm_remote.ts";
import { migrationOptions } from "../database/database_options.ts";
import { count } from "../terminal/generated_report.ts";

/** The command `trellis db seed`. */
export const dbSeed: Command = {
  name: "db seed",
  packages: ["acorn", "esbuild"],
  summary: "Fills a database with the seed of the project.",
  description: [
    "Runs dev.seed of trellis.config.ts: the statements of a SQL file, or the function seed({ db }) of a\n" +
    "module. Asks for confirmation before it changes a remote database. trellis dev seeds its own\n" +
    "database by itself.",
  ],
  options: [YES_OPTION, ...migrationOptions()],
  examples: [["trellis db seed", "the database in DATABASE_URL or trellis.config.ts"]],
  exitCodes: { [ExitCode.Failed]: "There is no seed, or it failed." },
  run: runSeedCommand,
};

/** The command `trellis db reset`. */
export const dbReset: Command = {
  name: "db reset",
  packages: ["acorn", "esbuild"],
  summary: "Empties a local database, and applies migrations and seed again.",
  description: [
    "Drops all schemas with their objects and rows, applies the migrations, and runs dev.seed if\n" +
    "trellis.config.ts has it. Refuses a database on another machine and one of Aurora DSQL. The\n" +
    "database of trellis dev is emptied by trellis dev --reset.",
  ],
  options: [
    { ...YES_OPTION, description: "Do not ask for confirmation." },
    ...migrationOptions(),
  ],
  examples: [["trellis db reset --yes", "the local database in DATABASE_URL"]],
  exitCodes: {
    [ExitCode.Done]: "The database has the objects of the migrations, and the rows of the seed.",
    [ExitCode.Failed]:
      "The database is not local, or it could not run: a migration or the seed failed.",
  },
  run: runResetCommand,
};

async function runSeedCommand(context: CommandContext): Promise<CommandResult> {
  const [{ findMigrations }, { withDatabase }] = await Promise.all([
    import("../database/migration_target.ts"),
    import("../database/reaching.ts"),
  ]);
  const { target, label } = await findMigrations(context);
  const database = { config: target.database, label };
  const seed = await findSeed(context);
  if (seed === undefined) {
    throw new ConfigurationError("There is no seed: set dev.seed in trellis.config.ts");
  }
  return await withDatabase(database, async () => {
    await confirmRemote(context, "Run the seed", { Target: database });
    await seed(target);
    context.output.line(`${context.output.bold(label)}: seeded`);
    return { exitCode: ExitCode.Done, database: label };
  });
}

async function runResetCommand(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const [{ findMigrations }, { withDatabase }, { withSession }, { runMigrations }] = await Promise
    .all([
      import("../database/migration_target.ts"),
      import("../database/reaching.ts"),
      import("../../database/providers/client.ts"),
      import("../../database/migrations/run.ts"),
    ]);
  const { target, label } = await findMigrations(context);
  if (!isLocal(target.database) || target.database.provider === "distsql") {
    throw new ConfigurationError(`${label} is not local: db reset drops everything`);
  }
  const seed = await findSeed(context);
  const isConfirmed = options.yes === true ||
    await context.confirm(`Drop everything in ${label}?`);
  if (isConfirmed === undefined) {
    throw new UsageError("No terminal is attached for a confirmation: use --yes");
  }
  if (!isConfirmed) throw new ConfigurationError("Cancelled: nothing was done");
  return await withDatabase({ config: target.database, label }, async () => {
    await withSession(target.database, dropSchemas);
    const { applied } = await runMigrations(target);
    await seed?.(target);
    const rest = seed === undefined ? "" : ", seeded";
    output.line(`${output.bold(label)}: ${count(applied, "migration")} applied${rest}`);
    return { exitCode: ExitCode.Done, database: label, applied, seeded: seed !== undefined };
  });
}

/** Returns the seed of a project; `undefined` if it has none. */
async function findSeed(
  { root, options }: CommandContext,
): Promise<((target: MigrationTarget) => Promise<void>) | undefined> {
  const { readConfig } = await import("../config/read_config.ts");
  const { dev } = await readConfig(root, options.config as string | undefined);
  if (dev.seed === undefined) return undefined;
  const file = resolve(root, dev.seed);
  const { runSeed } = await import("../dev/seed.ts");
  return ({ database }) =>
    runSeed({ file, root, outDir: join(root, ".trellis", "seed"), config: database });
}

/** Drops all schemas of a database; `public` is created again with its owner and rights. */
async function dropSchemas(session: SqlSession): Promise<void> {
  const schemas = await session.query(
    `SELECT quote_ident(nspname) AS name FROM pg_namespace
      WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' ORDER BY 1`,
  );
  await session.script([
    ...schemas.map(({ name }) => `DROP SCHEMA ${name} CASCADE`),
    "CREATE SCHEMA public",
    "GRANT USAGE ON SCHEMA public TO PUBLIC",
  ]);
}
