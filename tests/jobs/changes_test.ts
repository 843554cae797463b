// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import type { KinesisEvent, KinesisRecord } from "../../core/triggers/stream_events.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { type Change, CHANGES_MIGRATION_SQL, defineChangeStreamHandler } from "../../jobs/mod.ts";
import {
  createChangeStreamEvent,
  createFakeClock,
  createLambdaContext,
  createStreamEvent,
} from "../../testing/mod.ts";
import { createTestDatabase } from "../../testing/database.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";
import { generateStream, orders, type StreamCounts } from "./generated_changes.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const APPLIED =
  `CREATE TABLE IF NOT EXISTS "applied" ("id" uuid PRIMARY KEY NOT NULL, "worker" integer NOT NULL,
  "order_id" integer NOT NULL, "position" text NOT NULL, "operation" text NOT NULL);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "state" ("order_id" integer PRIMARY KEY NOT NULL, "position" text NOT NULL, "n" integer NOT NULL);`;

/** A handler that writes down what it gets, and fails now and then after it has written. */
function createConsumer(
  worker: number,
  db: DrizzleClient,
  random: () => number,
  counts: { failures: number; wrongOrder: number },
) {
  return defineChangeStreamHandler({
    name: "write-down",
    table: orders,
    getDb: () => db,
    concurrency: 1 + worker % 2,
    ...QUIET,
  })(async function writeDown({ change, tx }) {
    const { id } = change.key;
    const position = String(change.position);
    const [state] = await executeRows<{ position: string }>(
      tx as unknown as DrizzleClient,
      sql`select position from state where order_id = ${id}`,
    );
    if (state !== undefined && BigInt(state.position) >= change.position) counts.wrongOrder++;
    await tx.execute(
      sql`insert into state values (${id}, ${position}, 1)
        on conflict (order_id) do update set position = excluded.position, n = state.n + 1`,
    );
    await tx.execute(
      sql`insert into applied values (${crypto.randomUUID()}::uuid, ${worker}, ${id}, ${position}, ${change.operation})`,
    );
    if (random() < 0.15) {
      counts.failures++;
      throw new Error("the handler failed");
    }
  });
}

/** Delivers records in batches to several workers at once, again from the first that failed. */
async function deliverAll(
  db: DrizzleClient,
  records: readonly KinesisRecord[],
  random: () => number,
): Promise<{ failures: number; wrongOrder: number }> {
  const counts = { failures: 0, wrongOrder: 0 };
  const shards: KinesisRecord[][] = [[], [], []];
  for (const record of records) shards[Math.floor(random() * shards.length)].push(record);
  await Promise.all(shards.map(async (shard, worker) => {
    const handler = createConsumer(worker, db, random, counts);
    while (shard.length > 0) {
      const batch = shard.slice(0, 1 + Math.floor(random() * 25));
      const { batchItemFailures } = await handler({ Records: batch }, createLambdaContext());
      const failed = batchItemFailures.map(({ itemIdentifier }) => Number(itemIdentifier));
      const lowest = Math.min(...failed, Infinity);
      const done = batch.findIndex(({ kinesis }) => Number(kinesis.sequenceNumber) >= lowest);
      shard.splice(0, done === -1 ? batch.length : done);
    }
  }));
  return counts;
}

async function runCampaign(name: string, db: DrizzleClient, rounds: number): Promise<void> {
  const random = createRandom(testSeed).next;
  const counts: StreamCounts = { changes: 0, doubled: 0, split: 0, missing: 0, foreign: 0 };
  let [handled, failures] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const stream = generateStream(random, counts, {
      rows: isFull ? 8 : 5,
      changes: isFull ? 60 : 30,
    });
    const result = await deliverAll(db, stream.records, random);
    failures += result.failures;
    assertEquals(result.wrongOrder, 0, `${name}: order by key, seed ${testSeed}`);
    const applied = await executeRows<{ order_id: number; position: string }>(
      db,
      sql`select order_id, position from applied`,
    );
    handled += applied.length;
    const keys = applied.map(({ order_id, position }) => `${order_id} ${position}`);
    assertEquals(keys.length, new Set(keys).size, "a change was applied twice");
    const states = await executeRows<{ order_id: number; position: string; n: number }>(
      db,
      sql`select order_id, position, n from state`,
    );
    const latest = new Map(states.map((row) => [Number(row.order_id), BigInt(row.position)]));
    assertEquals(latest, new Map(stream.last), `${name}: last changes, seed ${testSeed}`);
    assertEquals(states.reduce((sum, { n }) => sum + Number(n), 0), applied.length);
    await db.execute(sql`delete from applied`);
    await db.execute(sql`delete from state`);
    const open = await executeRows(
      db,
      sql`select id from trellis_change_parts where fragment >= 0 and id in (
        select p.id from trellis_change_parts p join trellis_change_parts h on h.id = p.chunk
        where h.state = 'done')`,
    );
    assertEquals(open, [], "pieces of rows that were handled");
    await db.execute(sql`delete from trellis_change_positions`);
    await db.execute(sql`delete from trellis_change_parts`);
  }
  assert(counts.doubled > 0 && counts.split > 0 && counts.missing > 0 && counts.foreign > 0);
  assert(!isFull || failures > 0);
  console.log(
    `${name}: ${counts.changes} changes, ${counts.doubled} doubled, ${counts.split} split, ` +
      `${counts.missing} with a record missing, ${failures} failures; ${handled} handled: 0 lost, ` +
      `0 doubled, rows in order (seed ${testSeed})`,
  );
}

async function createTables(db: DrizzleClient): Promise<void> {
  for (
    const statement of `${CHANGES_MIGRATION_SQL}--> statement-breakpoint${APPLIED}`.split(
      "--> statement-breakpoint",
    )
  ) {
    await db.execute(sql.raw(statement));
  }
}

Deno.test("defineChangeStreamHandler() handles each change once and rows in order on PostgreSQL", async () => {
  const postgres = await startPostgres();
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: postgres.url,
    maxConnections: 6,
    instrument: false,
  };
  try {
    const db = await getDrizzleClient(config);
    await createTables(db);
    await runCampaign("PostgreSQL", db, isFull ? 150 : 1);
  } finally {
    await closeDrizzleClient(config);
    await postgres.stop();
  }
});

Deno.test("defineChangeStreamHandler() handles each change once and rows in order on the distributed provider", async () => {
  await withDistSqlLab(async (lab) => {
    assertEquals((await lab.migrate([CHANGES_MIGRATION_SQL, APPLIED])).applied, 2);
    const config = { ...lab.config, maxConnections: 6 };
    try {
      const db = await getDrizzleClient(config);
      await runCampaign("distributed provider", db, isFull ? 60 : 1);
    } finally {
      await closeDrizzleClient(config);
    }
  });
});

let opened: Awaited<ReturnType<typeof createTestDatabase>> | undefined;

Deno.test.afterAll(() => opened?.close());

/** The embedded database of this file, with empty tables. */
async function openTables(): Promise<DrizzleClient> {
  opened ??= await createTestDatabase();
  const db = opened.db as unknown as DrizzleClient;
  await createTables(db);
  await db.execute(sql`truncate trellis_change_positions, trellis_change_parts`);
  return db;
}

/** Runs a test with a consumer that lists what it gets. */
async function withConsumer(
  test: (world: {
    db: DrizzleClient;
    seen: Change<typeof orders>[];
    clock: ReturnType<typeof createFakeClock>;
    send: (event: KinesisEvent) => Promise<string[]>;
  }) => Promise<void>,
): Promise<void> {
  const db = await openTables();
  const clock = createFakeClock({ nowMs: Date.now() });
  const seen: Change<typeof orders>[] = [];
  const handler = defineChangeStreamHandler({
    name: "list",
    table: orders,
    getDb: () => db,
    clock,
    metrics: false,
    logging: { level: "ERROR" },
  })(({ change }) => void seen.push(change));
  const send = async (event: KinesisEvent) =>
    (await handler(event, createLambdaContext())).batchItemFailures.map((each) =>
      each.itemIdentifier
    );
  await test({ db, seen, clock, send });
}

Deno.test("defineChangeStreamHandler() hands over rows as the table types them", async () => {
  await withConsumer(async ({ seen, send }) => {
    const after = { id: 1, total: 5, note: "a" };
    await send(createChangeStreamEvent(orders, [
      { operation: "insert", after, position: 1_900_000_000_000_000_001n, transactionId: "t1" },
      { operation: "delete", before: { id: 1 }, position: 1_900_000_000_000_000_002n },
    ]));
    assertEquals(seen[0], {
      operation: "insert",
      key: { id: 1 },
      before: null,
      after,
      committedAt: new Date(1_900_000_000_000),
      position: 1_900_000_000_000_000_001n,
      transactionId: "t1",
    });
    assertEquals([seen[1].operation, seen[1].before, seen[1].after], ["delete", { id: 1 }, null]);
  });
});

Deno.test("defineChangeStreamHandler() goes on with other rows when one fails, and waits with its own", async () => {
  await withConsumer(async ({ seen, send }) => {
    const event = createChangeStreamEvent(orders, [
      { operation: "insert", after: { id: 1, total: 1, note: null } },
      { operation: "insert", after: { id: 2, total: null as never, note: null } },
      { operation: "update", after: { id: 2, total: 3, note: null } },
      { operation: "insert", after: { id: 3, total: 4, note: null } },
    ]);
    const { result: failed, writes } = await captureLogs(() => send(event));
    const numbers = event.Records.map(({ kinesis }) => kinesis.sequenceNumber);
    assertEquals(failed, [numbers[1], numbers[2]]);
    assertEquals(seen.map(({ key }) => key.id), [1, 3]);
    assertMatch(
      writes.join(""),
      /A change of orders \(id = 2\) does not fit the table: .*orders\.total is missing or null/,
    );
    await send({ Records: event.Records.slice(2) });
    assertEquals(seen.map(({ key }) => key.id), [1, 3, 2]);
  });
});

Deno.test("defineChangeStreamHandler() refuses records that it cannot read, and what it would have to guess", async () => {
  await withConsumer(async ({ seen, send }) => {
    const [full] = createChangeStreamEvent(orders, [
      { operation: "update", after: { id: 1, total: 1, note: null } },
    ]).Records;
    const base = JSON.parse(atob(full.kinesis.data));
    const wrong: [unknown, RegExp][] = [
      ["no JSON", /is not valid JSON|It /],
      [{ ...base, type: "later" }, /type later/],
      [{ ...base, op: "x" }, /operation x/],
      [{ ...base, after: null }, /after is not an object/],
      [{ ...base, source: { ...base.source, version: "2.0" } }, /source\.version is 2\.0/],
      [{ ...base, source: { ...base.source, ts_ns: "soon" } }, /source\.ts_ns/],
      [{ ...base, type: "chunked", op: "d", chunked: { before: {} } }, /deletion from orders/],
    ];
    for (const [data, message] of wrong) {
      const event = createStreamEvent([{ data }]);
      const { result: failed, writes } = await captureLogs(() => send(event));
      assertEquals(failed, [event.Records[0].kinesis.sequenceNumber], String(message));
      assertMatch(writes.join(""), message);
    }
    assertEquals(seen, []);
    await assertRejects(() => send({} as never), Error, "records of Kinesis");
  });
});

Deno.test("defineChangeStreamHandler() refuses a split row whose checksum is wrong", async () => {
  await withConsumer(async ({ seen, send, db }) => {
    const { Records } = createChangeStreamEvent(orders, [
      { operation: "insert", after: { id: 1, total: 1, note: "x" }, fragments: 3 },
    ]);
    const forged = JSON.parse(atob(Records[2].kinesis.data));
    forged.data = forged.data.replace(/.$/, "?");
    const event = createStreamEvent([{ data: forged }]);
    assertEquals(await send({ Records: [Records[3], Records[0], Records[1]] }), []);
    const { result: failed, writes } = await captureLogs(() => send(event));
    assertEquals(failed.length, 1);
    assertMatch(writes.join(""), /a row of orders do not have the checksum/);
    // the right fragment still completes the row
    await send({ Records: [Records[2]] });
    assertEquals(seen.length, 1);
    await send({ Records });
    assertEquals(seen.length, 1);
    const parts = await executeRows(db, sql`select state from trellis_change_parts`);
    assertEquals(parts, [{ state: "done" }]);
  });
});

Deno.test("defineChangeStreamHandler() refuses a change whose position may have been removed", async () => {
  await withConsumer(async ({ seen, send, clock, db }) => {
    const event = createChangeStreamEvent(orders, [
      { operation: "insert", after: { id: 1, total: 1, note: null } },
    ]);
    await send(event);
    await clock.advance(40 * 86_400_000);
    // its position is still there: it was handled
    assertEquals(await send(event), []);
    await db.execute(sql`delete from trellis_change_positions`);
    const { result: failed, writes } = await captureLogs(() => send(event));
    assertEquals(failed.length, 1);
    assertMatch(
      writes.join(""),
      /A change of orders \(id = 1\) is older than the 2592000 seconds/,
    );
    assertEquals(seen.length, 1);
  });
});

Deno.test("defineChangeStreamHandler() removes old positions, and reports fragments that did not arrive", async () => {
  const db = await openTables();
  // each one cleans up with its first record
  const deliver = (event: KinesisEvent, nowMs = Date.now()) => {
    const clock = createFakeClock({ nowMs });
    const options = { name: "list", table: orders, getDb: () => db, clock };
    return captureLogs(() =>
      defineChangeStreamHandler(options)(() => {})(event, createLambdaContext())
    );
  };
  const insert = (id: number, position?: bigint) =>
    createChangeStreamEvent(orders, [
      { operation: "insert", after: { id, total: 1, note: "x" }, position },
    ]);
  const { Records } = createChangeStreamEvent(orders, [
    { operation: "insert", after: { id: 1, total: 1, note: "x" }, fragments: 2 },
  ]);
  await deliver({ Records: Records.slice(0, 2) });
  await deliver(insert(9));
  await db.execute(
    sql`update trellis_change_parts set received_at = received_at - interval '1 hour'`,
  );
  const laterMs = Date.now() + 40 * 86_400_000;
  const { writes } = await deliver(insert(2, BigInt(laterMs) * 1_000_000n), laterMs);
  assertMatch(
    writes.join(""),
    /fragments of a changed row did not arrive.*"table":"public\.orders"/,
  );
  assertMatch(writes.join(""), /"IncompleteChanges":1/);
  const left = await executeRows(db, sql`select commit_ns from trellis_change_positions`);
  assertEquals(left, [{ commit_ns: `${laterMs}000000` }]);
});

Deno.test("defineChangeStreamHandler() refuses invalid options when the module is loaded", () => {
  const getDb = () => undefined as never;
  const valid = { name: "n", table: orders, getDb };
  const define = defineChangeStreamHandler as (options: unknown) => unknown;
  const wrong: [object, RegExp][] = [
    [{ ...valid, name: undefined }, /name is null/],
    [{ ...valid, name: "a b" }, /letters, digits/],
    [{ ...valid, getDb: undefined }, /getDb of defineChangeStreamHandler/],
    [{ ...valid, table: {} }, /must be a pgTable/],
    [{ ...valid, keepSeconds: 60 }, /keepSeconds is 60/],
    [{ ...valid, concurrency: 0 }, /concurrency is 0/],
    [{ ...valid, schema: {} }, /no option schema/],
    [{ ...valid, table: pgTable("log", { at: text("at"), n: integer("n") }) }, /no primary key/],
  ];
  for (const [options, message] of wrong) {
    assertMatch(assertThrows(() => define(options), Error).message, message);
  }
});
