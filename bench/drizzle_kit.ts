// deno-lint-ignore-file no-console
/**
 * `generate migration` beside drizzle-kit on generated pairs of schemas whose tables have rows: the catalog
 * that the statements lead to, what is dropped without a question, and what fails.
 *
 *   deno run -A bench/drizzle_kit.ts --pairs=200 --seed=1
 *
 * drizzle-kit 0.31 asks in a terminal: here its questions end with an error. The questions of 1.0 are answered.
 */
import { npmVersion } from "drizzle-orm/version";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import postgres from "postgres";
import { listCreateStatements } from "../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../cli/schema_migration/declared_objects.ts";
import { NO_DECISIONS } from "../cli/schema_migration/decisions.ts";
import { planDifference } from "../cli/schema_migration/plan_difference.ts";
import { isDrizzleOne } from "../database/session/drizzle_version.ts";
import { runOrThrow } from "../scripts/program.ts";
import {
  clearDatabase,
  describeDatabase,
} from "../tests/cli/schema_migration/described_database.ts";
import {
  buildSchema,
  changeSchema,
  createSchema,
  dropAll,
  insertRows,
  listKeptValues,
  renameColumns,
  type RenamedSchema,
  renameTables,
  ROW_ERROR,
  type SchemaModel,
  writeFirst,
} from "../tests/cli/schema_migration/random_schema.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { createRandom } from "../tests/support/random.ts";
import { withTempFolder } from "../tests/support/temp_folder.ts";

function option(name: string, value: string): string {
  return Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3) ?? value;
}

const VERSION = option("kit", isDrizzleOne ? "1.0.0-rc.5" : "0.31.11");
const NAME = `drizzle-kit ${VERSION}`;
const PAIRS = Number(option("pairs", "200"));
const SEED = Number(option("seed", "1"));
const IS_VERBOSE = Deno.args.includes("--verbose");

interface Kit {
  generateDrizzleJson(exports: object, previous?: string): Snapshot | Promise<Snapshot>;
  generateMigration(from: Snapshot, to: Snapshot, options?: object): Promise<string[]>;
}
interface Snapshot {
  readonly id: string;
}

/** What a tool does with a pair. */
interface Plan {
  /** The statements that create the first schema, as the tool itself writes them. */
  readonly created: readonly string[];
  /** The statements; `undefined` if it gives none. */
  readonly statements: readonly string[] | undefined;
  readonly asks: boolean;
}

type Tool = (before: SchemaModel, changed: RenamedSchema) => Promise<Plan>;

/** Installs drizzle-kit in a folder of its own, and loads it from there. */
async function loadKit(): Promise<Kit> {
  const folder = join(tmpdir(), `trellis-drizzle-kit-${VERSION}`);
  await Deno.mkdir(folder, { recursive: true });
  const packages = [`drizzle-kit@${VERSION}`, `drizzle-orm@${npmVersion}`];
  await runOrThrow("npm", ["install", "--prefix", folder, "--no-audit", ...packages]);
  const api = isDrizzleOne ? "drizzle-kit/api-postgres" : "drizzle-kit/api";
  return createRequire(join(folder, "index.js"))(api);
}

const kit = await loadKit();
const QUESTION = /Interactive prompts require a TTY/;

/** A question of drizzle-kit 1.0 about a table or a column. */
interface Missing {
  readonly type: string;
  readonly kind: string;
  /** Schema, table, and column. */
  readonly entity: readonly string[];
}

/** Answers a question of drizzle-kit 1.0. */
function toHint({ type, kind, entity }: Missing, renames: RenamedSchema["renames"]): object {
  const toPath = (label: string) => (/^app\./.test(label) ? label : `public.${label}`).split(".");
  for (const [old, next] of renames) {
    const from = toPath(old);
    const to = from.length === 3 ? [...from.slice(0, 2), next] : toPath(next);
    if (to.join() === entity.join()) return { type: "rename", kind, from, to };
  }
  return { type: type === "rename_or_create" ? "create" : type, kind, entity };
}

/** Generates statements. Those of drizzle-kit 1.0 with answers to its questions. */
async function generate(
  from: Snapshot,
  to: Snapshot,
  renames: RenamedSchema["renames"],
): Promise<Omit<Plan, "created">> {
  const hints: object[] = [];
  for (;;) {
    try {
      return {
        statements: await kit.generateMigration(from, to, { hints }),
        asks: hints.length > 0,
      };
    } catch (error) {
      const { message, missingHints } = error as Error & { missingHints?: readonly Missing[] };
      if (missingHints !== undefined && hints.length < 50) {
        hints.push(...missingHints.map((missing) => toHint(missing, renames)));
        continue;
      }
      const asks = QUESTION.test(message) || hints.length > 0;
      if (IS_VERBOSE && !QUESTION.test(message)) log(message);
      return { statements: undefined, asks };
    }
  }
}

const log = console.log;

const TOOLS: Readonly<Record<string, Tool>> = {
  [NAME]: async (before, { after, renames }) => {
    const empty = await kit.generateDrizzleJson({});
    const from = await kit.generateDrizzleJson(buildSchema(before), empty.id);
    const to = await kit.generateDrizzleJson(buildSchema(after), from.id);
    // it prints what it finds
    const { write } = process.stdout;
    const { error: printError } = console;
    process.stdout.write = () => true;
    console.error = () => {};
    try {
      const created = await kit.generateMigration(empty, from);
      return { created, ...await generate(from, to, renames) };
    } catch (error) {
      if (IS_VERBOSE) log((error as Error).message);
      return { created: [], statements: undefined, asks: false };
    } finally {
      console.error = printError;
      process.stdout.write = write;
    }
  },
  "trellis generate migration": (before, { after, renames }) =>
    withTempFolder({}, async (migrationsFolder) => {
      const created = await writeFirst(migrationsFolder, before);
      const options = { migrationsFolder, exports: Object.values(buildSchema(after)) };
      const asked = await planDifference({ ...options, decisions: NO_DECISIONS });
      const asks = asked.problems.length > 0 || asked.kept.length > 0;
      const renamed = { ...NO_DECISIONS, renames };
      const { kept } = await planDifference({ ...options, decisions: renamed });
      const answered = asks
        ? await planDifference({
          ...options,
          decisions: { ...renamed, drops: dropAll(kept).drops },
        })
        : asked;
      const isRefused = answered.problems.length > 0;
      return {
        created,
        statements: isRefused ? undefined : answered.steps.map(({ sql }) => sql),
        asks,
      };
    }),
};

async function read(client: postgres.Sql, texts: readonly string[]): Promise<string> {
  const values: unknown[] = [];
  for (const text of texts) values.push([...await client.unsafe(text)]);
  return JSON.stringify(values);
}

/** Applies the statements of a tool to filled tables, and says what is there then. */
async function judge(
  client: postgres.Sql,
  before: SchemaModel,
  changed: RenamedSchema,
  { created, statements, asks }: Plan,
): Promise<string[]> {
  const found = asks ? ["asks"] : [];
  if (statements === undefined) return asks ? found : [...found, "gives no statements"];
  if (!asks && statements.some((sql) => /\bDROP (?:TABLE|COLUMN)\b/i.test(sql))) {
    found.push("drops a table or column without a question");
  }
  await clearDatabase(client);
  try {
    for (const sql of created) await client.unsafe(sql);
  } catch (error) {
    if (IS_VERBOSE) console.log(`  ${(error as Error).message}`);
    return [...found, "its statements of the first schema fail"];
  }
  for (const sql of insertRows(before, 11)) await client.unsafe(sql);
  const values = listKeptValues(before, changed);
  const old = await read(client, values.map((each) => each.before));
  try {
    for (const sql of statements) await client.unsafe(sql);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    if (ROW_ERROR.test(`SQLSTATE ${code}`)) return [...found, "rows refuse it"];
    if (IS_VERBOSE) console.log(`  ${message}`);
    return [...found, "a statement fails"];
  }
  const kept = await read(client, values.map((each) => each.after)).catch(() => undefined);
  if (kept !== old) found.push("loses or changes values of columns that stay");
  const reached = JSON.stringify(await describeDatabase(client, true));
  await clearDatabase(client);
  const exports = Object.values(buildSchema(changed.after));
  for (const sql of listCreateStatements(findDeclaredObjects(exports))) await client.unsafe(sql);
  const wanted = JSON.stringify(await describeDatabase(client, true));
  return [...found, reached === wanted ? "reaches the schema" : "reaches another schema"];
}

const server = await startPostgres();
const client = postgres(server.url, { max: 1, onnotice: () => {}, prepare: false });
const counts = new Map(Object.keys(TOOLS).map((name) => [name, new Map<string, number>()]));
try {
  for (let index = 0; index < PAIRS; index++) {
    const random = createRandom(SEED + index);
    const before = createSchema(random);
    const after = changeSchema(random, before);
    const rename = [undefined, undefined, renameColumns, renameTables][index % 4];
    const changed = rename?.(random, before, after) ?? { after, renames: [] };
    for (const [name, tool] of Object.entries(TOOLS)) {
      const found = await judge(client, before, changed, await tool(before, changed));
      const own = counts.get(name)!;
      for (const what of found) own.set(what, (own.get(what) ?? 0) + 1);
      if (IS_VERBOSE) {
        console.log(`${SEED + index} ${name}: ${found.join(", ")}`);
      }
    }
  }
} finally {
  await client.end();
  await server.stop();
}
console.log(`${PAIRS} pairs, every second with renamed columns or tables, seed ${SEED}`);
for (const [name, own] of counts) {
  console.log(name);
  for (const [what, count] of [...own].sort()) {
    console.log(`  ${String(count).padStart(5)}  ${what}`);
  }
}
process.exit(0);
