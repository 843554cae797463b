// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import {
  createQueryFactory,
  DatabaseOperation,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { type FaultTarget, withFaultLab } from "../support/fault_targets.ts";
import type { NetworkState } from "../support/faulty_proxy.ts";

const rounds = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20 : 1;

// the clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

const tables = [{
  table: "ledger",
  operations: [DatabaseOperation.Insert, DatabaseOperation.Select],
}];

function defineQueries({ config }: FaultTarget) {
  const { defineQuery } = createQueryFactory(() => getDrizzleClient(config));
  return {
    read: defineQuery({ tables }, async function read(db) {
      return (await executeRows(db, sql`SELECT count(*)::int AS n FROM ledger`))[0].n;
    }),
    add: defineQuery({ tables, transaction: true }, async function add(db, id: string) {
      await db.execute(sql`INSERT INTO ledger (id) VALUES (${id})`);
      return id;
    }),
    ids: defineQuery({ tables }, async function ids(db) {
      return (await executeRows<{ id: string }>(db, sql`SELECT id FROM ledger`)).map(({ id }) =>
        id
      );
    }),
  };
}

Deno.test(
  "a network that fails ends each request in time, and the next one works",
  options,
  async () => {
    await withFaultLab(async (target, lab) => {
      const { name, network, config } = target;
      const { read, add, ids } = defineQueries(target);
      await (await getDrizzleClient(config)).execute(
        sql`CREATE TABLE ledger (id text PRIMARY KEY)`,
      );
      const acknowledged: string[] = [];
      const unknown: string[] = [];
      async function write(
        label: string,
        timeoutMs?: number,
        id: string = crypto.randomUUID(),
      ): Promise<number> {
        const { status } = await lab.request(`${name}, ${label}`, () => add(id), timeoutMs);
        (status === 200 ? acknowledged : unknown).push(id);
        return status;
      }
      async function works(after: string): Promise<void> {
        const { status } = await lab.request(`${name}, after ${after}`, read);
        assertEquals(status, 200, `${name}, after ${after}`);
        assertEquals(await write(`write after ${after}`), 200, `${name}, write after ${after}`);
      }
      await works("the start");
      for (let round = 0; round < rounds; round++) {
        // no FIN, no RST: the deadline of the function (or the driver's own time-out) is what ends it
        for (const state of ["black-hole", "half-open"] as const) {
          network.set(state);
          const [seen, written] = [
            await lab.request(`${name}, ${state} in a query`, read, 700),
            await write(`${state} in a transaction`, 700),
          ];
          assert([500, 504].includes(seen.status), `${name} ${state} ${seen.status}`);
          assert([500, 504].includes(written), `${name} ${state} ${written}`);
          network.set("pass");
          await works(state);
        }

        network.delay(40);
        assertEquals((await lab.request(`${name}, slow`, read)).status, 200);
        network.delay(0);

        let isCut = false;
        const id = crypto.randomUUID();
        // behind TLS, and masked in a WebSocket, nobody sees which statement it is: the first one is met
        network.onceSent(name === "distsql" || name === "branching-pg" ? "" : id, () => {
          isCut = true;
          network.cut();
        });
        const status = await write("cut in a transaction", undefined, id);
        assert(isCut, name);
        assertEquals(status, 500, `${name}: cut`);
        await works("a cut");

        // the answer is lost, the statement was done: it must not be sent again
        if (name !== "distsql" && name !== "branching-pg") {
          await (await getDrizzleClient(config)).execute(
            sql`CREATE TABLE IF NOT EXISTS bell (id text)`,
          );
          network.onceAnswered(
            name.includes("Data") ? "numberOfRecordsUpdated" : "INSERT 0 1",
            () => network.cut(),
          );
          const seen = await lab.request(`${name}, cut before the answer`, async () => {
            await (await getDrizzleClient(config)).execute(sql`INSERT INTO bell VALUES (${id})`);
          });
          assertEquals(seen.status, 500, name);
          const rung = sql`SELECT count(*)::int AS n FROM bell WHERE id = ${id}`;
          assertEquals(await executeRows(await getDrizzleClient(config), rung), [{ n: 1 }], name);
        }

        await refused(target, "refuse");
        await works("refused connections");
        await refused(target, "deaf");
        await works("connections that nobody answers");
      }
      const stored = await ids();
      // nothing that was acknowledged is lost; what was not may be there, once (the key sees to that) or not at all
      assertEquals(acknowledged.filter((id) => !stored.includes(id)), [], name);
      const applied = unknown.filter((id) => stored.includes(id)).length;
      console.log(
        `${name}: ${acknowledged.length} acknowledged, 0 lost; ${unknown.length} failed, ${applied} of them applied`,
      );
      assertGreaterOrEqual(network.accepted, 2);
      // what was given up at a deadline is no leak
      assertLessOrEqual(network.open, 6, name);
      await (await getDrizzleClient(config)).execute(sql`DROP TABLE ledger`);

      /** New connections cannot be made, as when a database wakes up or moves. */
      async function refused({ network }: FaultTarget, state: NetworkState): Promise<void> {
        network.set(state);
        network.cut();
        // the client hears of the cut, so that it has to connect
        await new Promise((resolve) => setTimeout(resolve, 50));
        const seen = await lab.request(`${name}, ${state}`, read, 4500);
        assert([500, 504].includes(seen.status), `${name} ${state} ${seen.status}`);
        network.set("pass");
      }
    });
  },
);

Deno.test("a lost connection is reported by an error with a message", options, async () => {
  await withFaultLab(async ({ name, config, network }, lab) => {
    const db = await getDrizzleClient(config);
    const statements = {
      "a query": () => executeRows(db, sql`SELECT pg_sleep(5)`),
      "a transaction": () => db.transaction((tx) => tx.execute(sql`SELECT pg_sleep(5)`)),
      "a refused connection": () => executeRows(db, sql`SELECT 1`),
      "a refused connection of a transaction": () =>
        db.transaction((tx) => tx.execute(sql`SELECT 1`)),
    };
    for (const [label, statement] of Object.entries(statements)) {
      const isRefused = label.startsWith("a refused connection");
      network.set(isRefused ? "refuse" : "pass");
      const timer = setTimeout(() => network.cut(), isRefused ? 0 : 1000);
      if (isRefused) await new Promise((resolve) => setTimeout(resolve, 50));
      assertEquals((await lab.request(`${name}, ${label}`, statement)).status, 500);
      clearTimeout(timer);
      let error = lab.lines.findLast((line) => line.message === "request failed")!.error;
      while (error?.cause !== undefined) error = error.cause as typeof error;
      assert(
        error !== undefined && !/no Error was thrown/.test(String(error.message)),
        `${name}, ${label}`,
      );
      assert(String(error.message).length > 5, `${name}, ${label}: ${error.message}`);
    }
  });
});
