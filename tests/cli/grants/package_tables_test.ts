import { assertEquals } from "@std/assert";
import { analyse, getGrants } from "../fixtures/analyse.ts";

const STORE = {
  "store.ts": `
    import { createTransactionStore } from "@trellis/fn/idempotency";
    import { getDrizzleClient } from "@trellis/fn/database";
    export const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
    export const orders = createTransactionStore(getDb);`,
};

Deno.test("analysePermissions() grants the table of idempotency records to handlers with a store", async () => {
  const analysis = await analyse({
    ...STORE,
    "fn.ts": `
      import { defineApiHandler } from "@trellis/fn";
      import { orders } from "./store.ts";
      import { addB } from "./queries.ts";
      export const handler = defineApiHandler({ idempotency: { store: orders } })(async ({ tx }) => {
        await addB.on(tx, "1");
        return { statusCode: 200, body: "" };
      });`,
    "other.ts": `
      import { defineQueueHandler } from "@trellis/fn";
      import { orders } from "./store.ts";
      import { readA } from "./queries.ts";
      export const handler = defineQueueHandler({})(async () => { await readA(); });`,
    "clean.ts": `
      import { defineScheduleHandler } from "@trellis/fn";
      import { removeExpiredRecords } from "@trellis/fn/idempotency";
      import { getDb } from "./store.ts";
      export const handler = defineScheduleHandler()(() => removeExpiredRecords(getDb));`,
  }, { Fn: "fn.ts", Other: "other.ts", Clean: "clean.ts" });
  assertEquals(getGrants(analysis, 0), "b INSERT, idempotency_records SELECT+INSERT+UPDATE+DELETE");
  assertEquals(getGrants(analysis, 1), "a SELECT");
  assertEquals(getGrants(analysis, 2), "idempotency_records SELECT+DELETE");
  assertEquals(analysis.functions.map(({ usesDatabase }) => usesDatabase), [true, true, true]);
  assertEquals([analysis.unresolved, analysis.missed], [[], []]);
});

Deno.test("analysePermissions() grants the table of subscriptions to functions that create or check tickets", async () => {
  const analysis = await analyse({
    "realtime.ts": `
      import { createConnectionTickets } from "@trellis/fn/realtime";
      import { getDrizzleClient } from "@trellis/fn/database";
      export const tickets = createConnectionTickets(() => getDrizzleClient({ provider: "embedded-pg" }));
      export const other = 1;`,
    "connect.ts": `
      import { defineWebSocketHandler } from "@trellis/fn";
      import { tickets } from "./realtime.ts";
      export const handler = defineWebSocketHandler({ auth: tickets })(() => {});`,
    "ticket.ts": `
      import { defineApiHandler } from "@trellis/fn";
      import { tickets } from "./realtime.ts";
      export const handler = defineApiHandler()(async ({ event }) => ({
        ticket: await tickets.createConnectionTicket({ user: { id: "u" } } as any) }));`,
    "other.ts": `
      import { defineQueueHandler } from "@trellis/fn";
      import { other } from "./realtime.ts";
      export const handler = defineQueueHandler()(async () => void other);`,
  }, { Connect: "connect.ts", Ticket: "ticket.ts", Other: "other.ts" });
  const all = "websocket_subscriptions SELECT+INSERT+DELETE";
  assertEquals([0, 1, 2].map((at) => getGrants(analysis, at)), [all, all, ""]);
  assertEquals([analysis.unresolved, analysis.missed], [[], []]);
});

Deno.test("analysePermissions() grants the table of subscriptions to functions that use connections", async () => {
  const analysis = await analyse({
    "realtime.ts": `
      import { createConnectionStore, createPublisher } from "@trellis/fn/realtime";
      import { getDrizzleClient } from "@trellis/fn/database";
      import { getRequiredEnv } from "@trellis/fn/env";
      export const connections = createConnectionStore(() => getDrizzleClient({ provider: "embedded-pg" }));
      export const publisher = createPublisher({ connections, endpoint: () => getRequiredEnv("SOCKET_URL") });`,
    "connect.ts": `
      import { defineWebSocketHandler } from "@trellis/fn";
      import { connections } from "./realtime.ts";
      export const handler = defineWebSocketHandler()(({ connectionId }) => connections.subscribe(connectionId, "all"));`,
    "announce.ts": `
      import { defineQueueHandler } from "@trellis/fn";
      import { publisher } from "./realtime.ts";
      export const handler = defineQueueHandler()(async () => { await publisher.publish("all", "x"); });`,
    "other.ts": `
      import { defineQueueHandler } from "@trellis/fn";
      import { readA } from "./queries.ts";
      export const handler = defineQueueHandler()(async () => { await readA(); });`,
  }, { Connect: "connect.ts", Announce: "announce.ts", Other: "other.ts" });
  const all = "websocket_subscriptions SELECT+INSERT+UPDATE+DELETE";
  assertEquals([0, 1, 2].map((at) => getGrants(analysis, at)), [all, all, "a SELECT"]);
  assertEquals([analysis.unresolved, analysis.missed], [[], []]);
});
