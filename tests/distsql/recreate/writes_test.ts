// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { RecreationError } from "../../../distsql/recreate/recreation_error.ts";
import { openClient, recreate, stopServer, watch, withDatabase } from "./recreation_support.ts";

const options = { sanitizeOps: false, sanitizeResources: false };

const SMALL =
  "CREATE TABLE t (k int PRIMARY KEY, body text); INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 100) AS i";
const CHANGE = "ALTER TABLE t ALTER k TYPE bigint";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
/** Recreations beside writers. */
const RECREATIONS = isFull ? 4 : 2;

/** Changes that must not be lost, whenever they come. */
const WRITES = [
  "INSERT INTO t VALUES (0, 'new')",
  "INSERT INTO t VALUES (1000, 'new')",
  "UPDATE t SET body = 'changed' WHERE k = 3",
  "DELETE FROM t WHERE k = 3",
  "UPDATE t SET k = -k WHERE k = 50",
  "DELETE FROM t WHERE k = 3; INSERT INTO t VALUES (3, 'another')",
];

Deno.test("executeRecreation() loses no write, whenever it comes", options, async () => {
  await withDatabase(async ({ db, script, rows }, url) => {
    const writer = await openClient(url);
    let refused = 0;
    try {
      for (const [place, write] of WRITES.entries()) {
        // together they come before every statement
        for (let at = 1 + place, ended = false; !ended; at += WRITES.length) {
          await script(`DROP TABLE IF EXISTS c, t; ${SMALL}; CREATE TABLE c (k int REFERENCES t)`);
          let statements = 0;
          let isWritten = false;
          const watched = watch(db, async () => {
            // the name is gone for a moment: then the write fails, and that is no loss
            if (++statements === at) {
              isWritten = await writer.script(write).then(() => true, () => false);
            }
          });
          const error = await recreate(watched, "t", CHANGE, { batchRows: 40 }).then(
            () => undefined,
            (e) => e,
          );
          ended = statements < at;
          if (error !== undefined) {
            assertEquals((error as RecreationError).reason, "rows_changed", String(error));
            refused++;
            await recreate(db, "t", CHANGE, { batchRows: 40 });
          }
          const after = await rows("SELECT k::int AS k, body FROM t ORDER BY k");
          await script(`DROP TABLE c, t; ${SMALL}`);
          if (isWritten) await script(write);
          assertEquals(
            after,
            await rows("SELECT k, body FROM t ORDER BY k"),
            `${write} before statement ${at}`,
          );
        }
      }
    } finally {
      await writer.close();
    }
    assert(refused > 10, `refused ${refused} times`);
  });
});

Deno.test("executeRecreation() loses no row of writers beside it", options, async () => {
  await withDatabase(async ({ db, script, rows }, url) => {
    await script(
      "CREATE TABLE t (k int PRIMARY KEY, body text); INSERT INTO t SELECT i, 'x' FROM generate_series(1, 1000) AS i",
    );
    const writers = await Promise.all([1, 2, 3].map(() => openClient(url)));
    let stopped = false;
    let next = 1000;
    let written = 1000;
    const writing = writers.map(async (writer) => {
      // bounded, since the copy would never catch up with writers that are faster than it
      for (let i = 0; i < 4000 && !stopped; i++) {
        const k = ++next;
        try {
          await writer.script(`INSERT INTO t VALUES (${k}, 'w')`);
          written++;
        } catch {
          // without a name for a moment
        }
      }
    });
    let done = 0;
    for (let i = 0; i < RECREATIONS; i++) {
      const type = `varchar(${90 + i})`;
      await recreate(db, "t", `ALTER TABLE t ALTER body TYPE ${type}`, { batchRows: 2000 }).then(
        () => done++,
        (error) => {
          assertEquals(error.reason, "rows_changed", String(error));
        },
      );
    }
    stopped = true;
    await Promise.all(writing);
    for (const writer of writers) await writer.close();
    await recreate(db, "t", CHANGE);
    assertEquals(
      await rows("SELECT count(*)::int AS rows, count(DISTINCT k)::int AS keys FROM t"),
      [
        { rows: written, keys: written },
      ],
    );
    console.log(
      `${
        written - 1000
      } rows written meanwhile; ${done} of ${RECREATIONS} recreations went through, the others refused`,
    );
  });
});

Deno.test({
  name: "executeRecreation() of a million rows stays under 150 MB in the client",
  ...options,
  ignore: !isFull,
  fn: async () => {
    await withDatabase(async ({ script, rows }, url) => {
      await script(
        "CREATE TABLE t (k bigint PRIMARY KEY, body text, amount int); INSERT INTO t SELECT i, md5(i::text) || md5((i * 7)::text), i FROM generate_series(1, 1000000) AS i; ANALYZE t",
      );
      const child = fileURLToPath(new URL("measured_process.ts", import.meta.url));
      const args = [
        "run",
        "-A",
        "--frozen",
        "--cached-only",
        child,
        url,
        "t",
        "ALTER TABLE t ALTER amount TYPE bigint",
      ];
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args,
        stdout: "piped",
        stderr: "piped",
      })
        .output();
      const text = new TextDecoder().decode(stdout);
      console.log(text, new TextDecoder().decode(stderr));
      const measured = JSON.parse(text);
      assertEquals(measured.rows, 1_000_000);
      assert(measured.mostMegabytes < 150, text);
      assertEquals(await rows("SELECT sum(amount)::text AS sum FROM t"), [{ sum: "500000500000" }]);
    });
  },
});

Deno.test.afterAll(async () => {
  await stopServer();
});
