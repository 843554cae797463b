// deno-lint-ignore-file no-console -- the figures are part of the result
/**
 * Migrations and rollbacks of filled databases whose process is killed at a message to the server.
 * The next run continues, and leads to the objects and rows of a run that was not killed.
 */
import { assert, assertEquals } from "@std/assert";
import * as pg from "drizzle-orm/pg-core";
import { type Decisions, NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { closeDrizzleClient, type DatabaseConfig, runMigrations } from "../../../database/mod.ts";
import type { MigrateConfig } from "../../../database/migrations/run.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { type KillPhase, runKilled, startKillingProxy } from "../../jobs/killing_proxy.ts";
import {
  buildSchema,
  changeSchema,
  createSchema,
  dropAll,
  insertRows,
  writeMigration,
} from "../schema_migration/random_schema.ts";
import {
  BASE,
  CHANGES,
  migrateAndKeep,
  rollBack,
  type RollbackLab,
  ROWS,
  withLab,
} from "./rollback_lab.ts";
import { withDistSqlServer } from "../../support/distsql_server.ts";

/** `TRELLIS_FULL_TESTS=1` kills at every message. */
const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESS = new URL("./killed_process.ts", import.meta.url);
/** What a message comes after its answer is the same as before the next one is sent. */
const PHASES: readonly KillPhase[] = ["before it is sent", "before its answer"];

type Target = Omit<MigrateConfig, "logger">;

/** Connects the migrations of a database, directly or over the stand-in for Aurora DSQL. */
async function withTarget(
  { url, target }: RollbackLab,
  isDistributed: boolean,
  work: (target: Target, port: number) => Promise<void>,
): Promise<void> {
  if (!isDistributed) return await work(target, Number(new URL(url).port));
  await withDistSqlServer(
    { backend: { url } },
    (database, { port }) => work({ ...target, database, lockTtlSeconds: 0.3 }, port),
  );
}

/** The target over a proxy. */
function through(target: Target, port: number): Target {
  const { database } = target;
  if (database.provider === "distsql") {
    return { ...target, database: { ...database, endpoint: `localhost:${port}` } };
  }
  const url = new URL((database as { connectionString: string }).connectionString);
  url.port = String(port);
  return { ...target, database: { ...database, connectionString: url.href } as DatabaseConfig };
}

interface KillOptions {
  readonly isDistributed?: boolean;
  /** The last migration that stays; without it the pending migrations are applied. */
  readonly to?: string;
  /** True if all changes happen in one transaction. */
  readonly isAtomic?: boolean;
  /**
   * Number of kills at one of the last messages; 0 for a kill at each message.
   * @default 1, and 0 in the long form
   */
  readonly kills?: number;
}

const random = createRandom(testSeed);
let databases = 0;

/**
 * Kills runs at messages, each on a copy of a prepared database, and continues them.
 *
 * @param prepare Leaves the database as it is before the run.
 * @returns The number of kills, and the state after the run.
 */
async function killRuns(
  server: TestPostgres,
  prepare: (lab: RollbackLab, target: Target) => Promise<void>,
  options: KillOptions = {},
): Promise<{ kills: number; start: unknown; end: unknown }> {
  const { to, isDistributed = false, isAtomic = false, kills = IS_FULL ? 0 : 1 } = options;
  const result = { kills: 0, start: undefined as unknown, end: undefined as unknown };
  const template = `prepared${++databases}`;
  await withLab(server, async (lab) => {
    await withTarget(lab, isDistributed, (target) => prepare(lab, target));
    result.start = await lab.read();
    // a template has no connections
    await closeDrizzleClient(lab.target.database);
    await lab.client.end();
    const copy = new URL(lab.url).pathname.slice(1);
    await server.createDatabase(template, copy);
    const { migrationsFolder } = lab.target;

    async function run(at?: { message: number; phase: KillPhase }): Promise<number> {
      let messages = 0;
      await withLab(server, (each) =>
        withTarget(each, isDistributed, async (ownTarget, port) => {
          const target = { ...ownTarget, migrationsFolder };
          const proxy = await startKillingProxy(port);
          const args = [through(target, proxy.port), ...to === undefined ? [] : [to]];
          proxy.arm(undefined);
          const { wasKilled, output } = await runKilled(
            PROCESS,
            args,
            at === undefined ? undefined : (kill) => proxy.arm({ ...at, kill }),
          );
          messages = proxy.count();
          await proxy.stop();
          const name = `${JSON.stringify(at)}, TRELLIS_SEED=${testSeed}`;
          if (at === undefined) {
            assertEquals([wasKilled, output], [false, ""]);
            result.end = await each.read();
            return;
          }
          if (!wasKilled) return assertEquals([output, await each.read()], ["", result.end], name);
          result.kills++;
          if (isAtomic) {
            const between = JSON.stringify(await each.read());
            const ends = [result.start, result.end].map((state) => JSON.stringify(state));
            assert(ends.includes(between), `${name}: neither before nor after the run`);
          }
          const problems = to === undefined
            ? await migrateAndKeep(target)
            : await rollBack(target, to);
          assertEquals(problems ?? [], [], name);
          assertEquals(await each.read(), result.end, name);
        }), template);
      return messages;
    }
    const messages = await run();
    const moments = Array.from(
      { length: messages * PHASES.length },
      (_, n) => ({ message: 1 + Math.floor(n / PHASES.length), phase: PHASES[n % PHASES.length] }),
    );
    // the last messages change and record
    const chosen = kills === 0
      ? moments
      : Array.from({ length: kills }, () => random.pick(moments.slice(-20)));
    for (const moment of chosen) await run(moment);
  });
  assert(kills > 0 || result.kills > 0, "no process was killed");
  return result;
}

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "db rollback that is killed leaves the database before or after it",
  unsanitized,
  async () => {
    await using server = await startPostgres();
    const changes = Object.entries(CHANGES);
    for (const [name, [migration, after]] of IS_FULL ? changes : [random.pick(changes)]) {
      let before: unknown;
      const { kills, end } = await killRuns(server, async ({ client, write, read }, target) => {
        await write({ "0001_base.sql": BASE });
        await runMigrations(target);
        await client.unsafe(ROWS);
        before = await read();
        await write({ "0002_change.sql": migration });
        await migrateAndKeep(target);
        await client.unsafe(after);
      }, { to: "0001_base", isAtomic: true });
      assertEquals(end, before);
      console.log(`${name}: killed ${kills} times`);
    }
  },
);

Deno.test(
  "db rollback on the distributed engine continues what a killed process began",
  unsanitized,
  async () => {
    await using server = await startPostgres();
    let before: unknown;
    const { kills, end } = await killRuns(server, async ({ client, write, read }, target) => {
      await write({
        "0001_notes.sql": `CREATE TABLE notes (id int PRIMARY KEY, title text, body text);
          CREATE TABLE tags (id int PRIMARY KEY, label text);`,
      });
      await runMigrations(target);
      await client.unsafe(
        `INSERT INTO notes SELECT n, 't' || n, 'b' || n FROM generate_series(1, 9) n;
        INSERT INTO tags SELECT n, 'l' || n FROM generate_series(1, 9) n`,
      );
      before = await read();
      await write({
        "0002_change.sql": `ALTER TABLE notes DROP COLUMN title;
          DROP TABLE tags;
          ALTER TABLE notes ADD COLUMN size int;
          ALTER TABLE notes RENAME COLUMN body TO text;`,
      });
      await migrateAndKeep(target);
      await client.unsafe("UPDATE notes SET size = id");
    }, { to: "0001_notes", isDistributed: true });
    assertEquals(end, before);
    console.log(`distributed engine: killed ${kills} times`);
  },
);

const BEFORE = {
  notes: pg.pgTable("notes", {
    id: pg.integer("id").primaryKey(),
    body: pg.varchar("body", { length: 40 }).notNull(),
    n: pg.integer("n").unique(),
  }),
};
const AFTER = {
  notes: pg.pgTable("notes", {
    id: pg.integer("id").primaryKey(),
    text: pg.text("text").notNull(),
    count: pg.bigint("count", { mode: "number" }).unique(),
  }),
};
const EXPAND: Decisions = {
  ...NO_DECISIONS,
  renames: [["notes.body", "text"], ["notes.n", "count"]],
  isExpand: true,
};

/** Writes a migration to a schema as the command does. */
async function generate(
  migrationsFolder: string,
  name: string,
  exports: object,
  decisions: Decisions = NO_DECISIONS,
): Promise<string> {
  const options = { migrationsFolder, exports: Object.values(exports), decisions };
  const asked = await planDifference(options);
  const isAsked = asked.kept.length > 0 && decisions === NO_DECISIONS;
  const change = isAsked
    ? await planDifference({ ...options, decisions: dropAll(asked.kept) })
    : asked;
  await writeMigration(migrationsFolder, name, change);
  return change.steps.map(({ sql }) => sql).join(";\n");
}

Deno.test(
  "expand and contract continue after kills, and can be rolled back",
  unsanitized,
  async () => {
    await using server = await startPostgres();
    const isAt = (part: number) => IS_FULL || part === testSeed % 3;
    async function expand({ client }: RollbackLab, target: Target): Promise<void> {
      await generate(target.migrationsFolder, "a", BEFORE);
      await runMigrations(target);
      // over the size from which statements have an online form
      await client.unsafe(
        "INSERT INTO notes SELECT n, 'body ' || n, n FROM generate_series(1, 20000) n",
      );
      await generate(target.migrationsFolder, "expand", AFTER, EXPAND);
    }
    if (isAt(0)) {
      const { kills } = await killRuns(server, expand);
      console.log(`expand: killed ${kills} times`);
    }
    if (isAt(1)) {
      let before: unknown;
      const { kills, end } = await killRuns(server, async (lab, target) => {
        await expand(lab, target);
        before = await lab.read();
        await migrateAndKeep(target);
      }, { to: "0001_a" });
      assertEquals(end, before);
      console.log(`rollback of expand: killed ${kills} times`);
    }
    if (isAt(2)) {
      const { kills } = await killRuns(server, async (lab, target) => {
        await expand(lab, target);
        await migrateAndKeep(target);
        await generate(target.migrationsFolder, "contract", AFTER, {
          ...NO_DECISIONS,
          drops: new Set(["notes.body", "notes.n"]),
        });
      });
      console.log(`contract: killed ${kills} times`);
    }
  },
);

/** Values that differ from run to run. */
const VOLATILE = /gen_random_uuid|now\(\)/;

Deno.test(
  "generated migrations and their rollbacks continue after kills",
  { ...unsanitized, ignore: !IS_FULL },
  async () => {
    await using server = await startPostgres();
    const total = { kills: 0, cases: 0, refused: 0 };
    for (let seed = testSeed; total.cases < 12; seed++) {
      const random = createRandom(seed);
      const before = createSchema(random);
      const after = changeSchema(random, before);
      let [changes, start]: [string, unknown] = ["", undefined];
      const prepare = async ({ client, read }: RollbackLab, target: Target): Promise<void> => {
        await generate(target.migrationsFolder, "a", buildSchema(before));
        await runMigrations(target);
        for (const statement of insertRows(before, 11)) await client.unsafe(statement);
        start = await read();
        changes = await generate(target.migrationsFolder, "b", buildSchema(after));
      };
      let isUsable = false;
      await withLab(server, async (lab) => {
        await prepare(lab, lab.target);
        if (changes === "" || VOLATILE.test(changes)) return;
        isUsable = await migrateAndKeep(lab.target).then(() => true, () => false);
        if (!isUsable) return;
        const problems = await rollBack(lab.target, "0001_a");
        if (problems.length > 0) total.refused++;
        isUsable = problems.length === 0;
      });
      if (!isUsable) continue;
      total.cases++;
      total.kills += (await killRuns(server, prepare)).kills;
      const { kills, end } = await killRuns(server, async (lab, target) => {
        await prepare(lab, target);
        await migrateAndKeep(target);
      }, { to: "0001_a", isAtomic: true });
      total.kills += kills;
      assertEquals(end, start, `seed ${seed}`);
    }
    console.log(`generated: ${JSON.stringify(total)}, TRELLIS_SEED=${testSeed}`);
  },
);
