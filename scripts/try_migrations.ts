// deno-lint-ignore-file no-console
/**
 * Runs the migrations of an application on PostgreSQL and on the local Aurora DSQL server. Reports
 * which files ran and which statements were removed because the engine has no equivalent. All other
 * statements must run: a statement that another rule rejects, or that fails during a run, is a
 * fault of the translation.
 *
 *   deno run -A scripts/try_migrations.ts <folder> [--verbose]
 *
 * The folder contains migrations of drizzle-kit (with meta/_journal.json), Prisma (a folder per
 * migration), or numbered files. It is only read.
 */
import { closeDrizzleClient } from "../database/providers/client.ts";
import type { DatabaseConfig } from "../database/config/config.ts";
import { MigrationError } from "../database/migrations/migration_error.ts";
import { runMigrations } from "../database/migrations/run.ts";
import { type TranslatedSource, translateSources } from "../distsql/findings/translate_sources.ts";
import { setLogOutput } from "../observability/output.ts";
import { type DistSqlServer, startDistSqlServer } from "../distsql/server/server.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { drop, type Removed, takeOut, takeOutUses } from "./try_migrations/edits.ts";
import {
  getText,
  type Piece,
  readTrial,
  type TrialFile,
  writeTrial,
} from "./try_migrations/sources.ts";

const CHOICES = { enums: "check", numeric: { precision: 38, scale: 10 } } as const;
const [folder] = Deno.args.filter((arg) => !arg.startsWith("--"));
const isVerbose = Deno.args.includes("--verbose");
if (folder === undefined) {
  console.error("usage: deno run -A scripts/try_migrations.ts <folder> [--verbose]");
  Deno.exit(2);
}
setLogOutput(() => {});

const files = readTrial(folder);
const removed: Removed = { columns: new Map(), objects: new Map() };
const statements = files.reduce((sum, { pieces }) => sum + pieces.length, 0);
const postgres = await startPostgres();
let count = 0;
try {
  const onPostgres = await run(
    "PostgreSQL",
    (url) => ({ provider: "serverless-pg", connectionString: url }),
  );
  const takenOnPostgres = takenOut();
  takeOutForEngine();
  const onStandIn = await runOnStandIn();
  report(onPostgres, onStandIn, takenOnPostgres);
} finally {
  await postgres.stop();
}
// the AWS client keeps a socket open
Deno.exit(0);

/** Runs the files on new databases and removes each failing statement until all run. */
async function run(where: string, configure: (url: string) => DatabaseConfig): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const failed = await runOnce(configure(await postgres.createDatabase(`trial_${++count}`)));
    if (failed === undefined) return files.length;
    drop(failed.piece, `${where} refused it in the middle of a run: ${failed.message}`, removed);
  }
  throw new Error(`more than 200 statements fail on ${where}`);
}

async function runOnStandIn(): Promise<number> {
  let server: DistSqlServer | undefined;
  try {
    for (let attempt = 0; attempt < 200; attempt++) {
      await server?.stop();
      server = await startDistSqlServer({
        backend: { url: await postgres.createDatabase(`trial_${++count}`) },
      });
      Deno.env.set("AWS_ACCESS_KEY_ID", server.principal.accessKeyId);
      Deno.env.set("AWS_SECRET_ACCESS_KEY", server.principal.secretAccessKey);
      const failed = await runOnce({
        provider: "distsql",
        endpoint: `localhost:${server.port}`,
        region: server.region,
        isAdmin: true,
        ca: server.ca,
      });
      if (failed === undefined) return files.length;
      drop(failed.piece, `FAULT in the middle of a run: ${failed.message}`, removed);
    }
    throw new Error("more than 200 statements fail on the local server");
  } finally {
    await server?.stop();
  }
}

async function runOnce(
  database: DatabaseConfig,
): Promise<{ piece: Piece; message: string } | undefined> {
  const migrationsFolder = await Deno.makeTempDir();
  try {
    writeTrial(files, migrationsFolder);
    await runMigrations({
      migrationsFolder,
      database: { ...database, instrument: false },
      translation: CHOICES,
    });
    return undefined;
  } catch (error) {
    if (
      !(error instanceof MigrationError) || error.tag === undefined || error.statement === undefined
    ) throw error;
    return {
      piece: findPiece(error.tag, error.statement, database.provider),
      message: error.message,
    };
  } finally {
    await closeDrizzleClient(database).catch(() => {});
    await Deno.remove(migrationsFolder, { recursive: true });
  }
}

/** Finds a statement of a file by its number among the sent ones, from 1. */
function findPiece(tag: string, statement: number, provider: DatabaseConfig["provider"]): Piece {
  const place = files.findIndex((file) => file.tag === tag);
  const pieces = getLeft(files[place]);
  if (provider !== "distsql") return pieces[statement - 1];
  const { statements } = translate()[place];
  let sent = 0;
  const at = statements.findIndex(({ steps, refusals }) => {
    sent += refusals.length > 0 ? 1 : steps.length;
    return sent >= statement;
  });
  return pieces[at];
}

function getLeft({ pieces }: TrialFile): Piece[] {
  return pieces.filter(({ dropped }) => dropped === undefined);
}

function translate(): TranslatedSource[] {
  return translateSources(files.map((file) => ({ name: file.tag, sql: getText(file) })), CHOICES);
}

/** Removes rejected statements and their uses until planning rejects nothing. */
function takeOutForEngine(): void {
  for (let round = 0; round < 100; round++) {
    let isDone = true;
    for (const [place, { statements }] of translate().entries()) {
      const pieces = getLeft(files[place]);
      for (const [at, { refusals, table }] of statements.entries()) {
        const refusal = refusals.find(({ code }) => code === "UNSUPPORTED_STATEMENT");
        if (refusal === undefined) continue;
        takeOut(pieces[at], { rule: refusal.id, message: refusal.summary, table }, removed);
        isDone = false;
      }
    }
    if (!takeOutUses(files, removed) && isDone) return;
  }
  throw new Error("planning still rejects statements after 100 rounds");
}

function takenOut(): Map<string, number> {
  const reasons = new Map<string, number>();
  for (const { dropped, edited } of files.flatMap(({ pieces }) => pieces)) {
    for (const reason of [dropped, edited]) {
      if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
  }
  return reasons;
}

function report(onPostgres: number, onStandIn: number, before: ReadonlyMap<string, number>): void {
  const touched =
    files.filter(({ pieces }) => pieces.some(({ dropped, edited }) => dropped ?? edited)).length;
  console.log(`${files.length} files, ${statements} statements`);
  console.log(`PostgreSQL: ${onPostgres} files ran`);
  for (const [reason, number] of before) console.log(`  ${number} × ${reason}`);
  console.log(
    `stand-in of Aurora DSQL: ${onStandIn} files ran, ${touched} of them changed by hand`,
  );
  for (const [reason, number] of takenOut()) {
    if (!before.has(reason)) console.log(`  ${number} × ${reason}`);
  }
  if (!isVerbose) return;
  for (const { tag, pieces } of files) {
    for (const { text, dropped, edited } of pieces) {
      if (dropped !== undefined || edited !== undefined) {
        console.log(
          `${tag}: ${dropped ?? `edited: ${edited}`}\n    ${
            text.replace(/\s+/g, " ").slice(0, 160)
          }`,
        );
      }
    }
  }
}
