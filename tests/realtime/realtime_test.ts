/** Pushes with the official client, through the WebSocket API of `trellis dev`, to real clients. */
import { assertEquals, assertFalse, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { listenOnLoopback } from "../../cli/dev/http/http_server.ts";
import type { LocalServices } from "../../cli/dev/local_services.ts";
import { createSocketGateway } from "../../cli/dev/socket_gateway.ts";
import { CONNECTIONS_PATH, SOCKET_PATH } from "../../cli/dev/socket_paths.ts";
import type { FunctionFile } from "../../cli/discovery/function_files.ts";
import {
  defineAuthorizerHandler,
  defineWebSocketHandler,
  UnauthorizedError,
  UserStatus,
} from "../../mod.ts";
import { getDrizzleClient, sanitizeForDistSql } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError, PayloadTooLargeError } from "../../errors/mod.ts";
import { getRequiredEnv } from "../../env/mod.ts";
import type { SessionResult } from "../../core/http/session.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { redactText } from "../../observability/redact_text.ts";
import {
  createConnectionStore,
  createConnectionTickets,
  createPublisher,
  SUBSCRIPTION_MIGRATION_SQL,
} from "../../realtime/mod.ts";
import { createLambdaContext, createRestApiEvent, createTestDatabase } from "../../testing/mod.ts";
import { withEnv } from "../support/with_env.ts";
import { withDistSqlServer } from "../support/distsql_server.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const database = await createTestDatabase();
for (const statement of SUBSCRIPTION_MIGRATION_SQL.split("--> statement-breakpoint")) {
  await database.db.execute(sql.raw(statement));
}
const connections = createConnectionStore(() => database.db);
const tickets = createConnectionTickets(() => database.db);
setLogOutput(() => {});

/** Connections whose disconnect was handled. */
const disconnected: string[] = [];
let wakeUp = () => {};

async function waitForDisconnects(count: number): Promise<void> {
  while (disconnected.length < count) await new Promise<void>((resolve) => wakeUp = resolve);
  disconnected.length = 0;
}

// deno-lint-ignore no-explicit-any
const HANDLERS: Record<string, (event: any, context: any) => Promise<unknown>> = {
  Authorize: defineAuthorizerHandler({ ...QUIET, unauthenticated: "deny" })(({ query }) =>
    query.token === undefined
      ? { userStatus: UserStatus.Unauthenticated }
      : { userStatus: UserStatus.Authenticated, userId: query.token }
  ),
  $connect: defineWebSocketHandler({ ...QUIET, auth: "authorizer" })(async (params) => {
    if (params.eventType !== "CONNECT") return;
    const { connectionId, userId } = params;
    if (userId === "banned") throw new UnauthorizedError("banned");
    await connections.subscribe(connectionId, "all", `user:${userId}`);
  }),
  $disconnect: defineWebSocketHandler(QUIET)(async ({ connectionId }) => {
    await connections.remove(connectionId);
    disconnected.push(connectionId);
    wakeUp();
  }),
  $default: defineWebSocketHandler(QUIET)(({ event }) => ({
    statusCode: 200,
    body: `echo ${event.body}`,
  })),
  join: defineWebSocketHandler(QUIET)(async ({ connectionId, event }) => {
    const { room } = JSON.parse(event.body!);
    await connections.subscribe(connectionId, `room:${room}`);
    return { statusCode: 200, body: `joined ${room}` };
  }),
};
const FUNCTIONS = Object.keys(HANDLERS).map((name): FunctionFile =>
  name === "Authorize"
    ? { kind: "authorizer", name, file: `/${name}.ts` }
    : { kind: "websocket", name, file: `/${name}.ts`, routeKey: name }
);
const gateway = createSocketGateway({
  project: {
    store: {
      list: () => FUNCTIONS,
      load: ({ name }: FunctionFile) => ({ handler: HANDLERS[name] }),
    },
  },
  invoker: {
    invoke: (fn: FunctionFile, event: unknown) =>
      HANDLERS[fn.name](event, createLambdaContext()).then(
        (result) => ({ result }),
        (error) => ({ error }),
      ),
  },
  options: {
    config: {
      infra: {
        websocket: {},
        functions: { $default: { twoWay: true }, join: { twoWay: true } },
      },
    },
  },
  pending: { track: (work: Promise<unknown>) => work },
} as unknown as LocalServices);
const server = await listenOnLoopback((...request) => gateway.answer(...request), 0);
server.onUpgrade((...handshake) => gateway.accept(...handshake));
const ENVIRONMENT = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
};
const publisher = createPublisher({
  connections,
  endpoint: () => `${server.url}${CONNECTIONS_PATH}`,
});
Deno.test.afterAll(async () => {
  gateway.close();
  await server.stop();
  await database.close();
});

interface Client {
  readonly socket: WebSocket;
  next(): Promise<string>;
  close(): Promise<void>;
}

/** Connects; rejects if the handshake is refused. */
async function connect(token?: string): Promise<Client> {
  const url = `${server.url.replace("http", "ws")}${SOCKET_PATH}`;
  const socket = new WebSocket(token === undefined ? url : `${url}?token=${token}`);
  const received: string[] = [];
  let wake = () => {};
  socket.onmessage = ({ data }) => {
    received.push(String(data));
    wake();
  };
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error("refused"));
  });
  return {
    socket,
    async next(): Promise<string> {
      while (received.length === 0) await new Promise<void>((resolve) => wake = resolve);
      return received.shift()!;
    },
    close: () =>
      new Promise((resolve) => {
        socket.onclose = () => resolve();
        socket.close();
      }),
  };
}

Deno.test("publish() reaches the clients of a topic, and no others", async () => {
  await withEnv(ENVIRONMENT, async () => {
    const [ada, bob] = [await connect("ada"), await connect("bob")];
    ada.socket.send(JSON.stringify({ action: "join", room: "r1" }));
    assertEquals(await ada.next(), "joined r1");
    assertEquals(await publisher.publish("room:r1", { text: "hello" }), {
      delivered: 1,
      gone: 0,
      failed: 0,
    });
    assertEquals(JSON.parse(await ada.next()), { text: "hello" });
    assertEquals((await publisher.publish("all", "to all")).delivered, 2);
    assertEquals([await ada.next(), await bob.next()], ["to all", "to all"]);
    assertEquals((await publisher.publish("user:bob", "for bob")).delivered, 1);
    assertEquals(await bob.next(), "for bob");
    assertEquals(await publisher.publish("room:none", "x"), { delivered: 0, gone: 0, failed: 0 });
    await Promise.all([ada.close(), bob.close()]);
    await waitForDisconnects(2);
    assertEquals(await connections.list("all", { limit: 10 }), []);
  });
});

Deno.test("publish() and send() remove connections that have ended without a disconnect", async () => {
  await withEnv(ENVIRONMENT, async () => {
    const ada = await connect("ada");
    await connections.subscribe("gone1=", "all", "other");
    await connections.subscribe("gone2=", "all");
    assertEquals(await publisher.publish("all", "x"), { delivered: 1, gone: 2, failed: 0 });
    assertEquals((await connections.list("all", { limit: 10 })).length, 1);
    assertEquals(await connections.list("other", { limit: 10 }), []);
    await connections.subscribe("gone3=", "other");
    assertEquals(await publisher.send("gone3=", "x"), false);
    assertEquals(await connections.list("other", { limit: 10 }), []);
    await ada.close();
    await waitForDisconnects(1);
  });
});

Deno.test("publish() counts connections that it could not send to, and goes on", async () => {
  await withEnv(ENVIRONMENT, async () => {
    await connections.subscribe("a=", "broken");
    await connections.subscribe("b=", "broken");
    const broken = createPublisher({ connections, endpoint: () => "http://127.0.0.1:1" });
    const lines: string[] = [];
    const restore = setLogOutput((line) => lines.push(line));
    const result = await broken.publish("broken", "x").finally(restore);
    assertEquals(result, { delivered: 0, gone: 0, failed: 2 });
    assertEquals(lines.filter((line) => line.includes("message was not sent")).length, 2);
    assertEquals((await connections.list("broken", { limit: 10 })).length, 2);
    const unset = createPublisher({ connections, endpoint: () => getRequiredEnv("NO_SOCKET_URL") });
    await assertRejects(() => unset.publish("broken", "x"), ConfigurationError, "NO_SOCKET_URL");
    await connections.remove("a=", "b=");
  });
});

Deno.test("the local WebSocket API refuses what the authorizer or $connect refuse, and routes messages", async () => {
  await assertRejects(() => connect(), Error, "refused");
  await assertRejects(() => connect("banned"), Error, "refused");
  const ada = await connect("ada");
  ada.socket.send("no JSON");
  assertEquals(await ada.next(), "echo no JSON");
  ada.socket.send('{"action":"unknown"}');
  assertEquals(await ada.next(), 'echo {"action":"unknown"}');
  await ada.close();
  await waitForDisconnects(1);
});

Deno.test("createConnectionStore() lists pages in order, and forgets what has expired", async () => {
  for (const id of ["c", "a", "b"]) await connections.subscribe(id, "paged", "paged");
  assertEquals(await connections.list("paged", { limit: 2 }), ["a", "b"]);
  assertEquals(await connections.list("paged", { limit: 2, after: "b" }), ["c"]);
  await connections.unsubscribe("b", "paged", "none");
  assertEquals(await connections.list("paged", { limit: 10 }), ["a", "c"]);
  await database.db.execute(
    sql`UPDATE websocket_subscriptions SET expires_at = now() - interval '1 second' WHERE connection_id = 'a'`,
  );
  assertEquals(await connections.list("paged", { limit: 10 }), ["c"]);
  await connections.subscribe("a", "paged");
  assertEquals(await connections.list("paged", { limit: 10 }), ["a", "c"]);
  await database.db.execute(
    sql`UPDATE websocket_subscriptions SET expires_at = now() WHERE topic = 'paged'`,
  );
  assertEquals(await connections.removeExpired(), 2);
  assertEquals(await connections.removeExpired(), 0);
});

Deno.test("subscribe() and unsubscribe() take any number of topics", async () => {
  // in one statement, they would have more than the 65,535 parameters that the protocol allows
  const topics = Array.from({ length: 22_000 }, (_, index) => `t${index}`);
  await connections.subscribe("wide", ...topics);
  assertEquals(await connections.list("t21999", { limit: 10 }), ["wide"]);
  await connections.unsubscribe("wide", ...topics.slice(1));
  assertEquals(await connections.findTopics("wide"), ["t0"]);
  await connections.remove("wide");
});

Deno.test("findTopics() returns the topics of a connection with a prefix, and no tickets", async () => {
  await connections.subscribe("c1", "user:u1", "user_x", "room:1");
  await tickets.createConnectionTicket({ user: { id: "c1" } } as SessionResult);
  assertEquals(await connections.findTopics("c1", "user:"), ["user:u1"]);
  assertEquals(await connections.findTopics("c1"), ["room:1", "user:u1", "user_x"]);
  assertEquals(await connections.findTopics("c2"), []);
  await connections.remove("c1");
});

const ADA = { user: { id: "ada" } } as SessionResult;
const showTicket = (query: Record<string, string>) =>
  tickets.authenticate(createRestApiEvent({ query }));
const listTicketRows = async () =>
  (await database.db.execute(
    sql`SELECT topic FROM websocket_subscriptions WHERE topic LIKE '$ticket:%'`,
  ) as unknown as { rows: { topic: string }[] }).rows;

Deno.test("createConnectionTicket() stores a hash, and its ticket admits its user once", async () => {
  const ticket = await tickets.createConnectionTicket(ADA);
  assertMatch(ticket, /^wst_[\w-]{43}$/);
  const rows = await listTicketRows();
  assertEquals(rows.length, 1);
  assertFalse(rows[0].topic.includes(ticket.slice(4)));
  assertEquals(redactText(`GET /?x=${ticket}`), "GET /?x=[REDACTED]");
  // the database decides between clients that come at the same time
  const shown = await Promise.allSettled(Array.from({ length: 5 }, () => showTicket({ ticket })));
  assertEquals(shown.filter(({ status }) => status === "fulfilled"), [
    { status: "fulfilled", value: { userId: "ada" } },
  ]);
  await assertRejects(() => showTicket({ ticket }), UnauthorizedError, "used, expired");
  assertEquals(await listTicketRows(), []);
});

Deno.test("createConnectionTickets() refuses expired, forged and missing tickets, and tickets without a user", async () => {
  const expired = await tickets.createConnectionTicket(ADA);
  await database.db.execute(
    sql`UPDATE websocket_subscriptions SET expires_at = now() WHERE topic LIKE '$ticket:%'`,
  );
  const forged = `wst_${"A".repeat(43)}`;
  for (const query of [{ ticket: expired }, { ticket: forged }, { ticket: "" }, {}]) {
    await assertRejects(() => showTicket(query as Record<string, string>), UnauthorizedError);
  }
  const unused = await tickets.createConnectionTicket(ADA);
  await database.db.execute(
    sql`UPDATE websocket_subscriptions SET expires_at = now() WHERE topic LIKE '$ticket:%'`,
  );
  assertEquals([await connections.removeExpired(), await listTicketRows()], [1, []]);
  await assertRejects(() => showTicket({ ticket: unused }), UnauthorizedError);
  for (const session of [undefined, {}, { user: {} }, { user: { id: "" } }]) {
    await assertRejects(
      () => tickets.createConnectionTicket(session as never),
      ConfigurationError,
      "session.user.id",
    );
  }
});

Deno.test("topics cannot be made into tickets", async () => {
  for (
    const use of [
      () => connections.subscribe("mallory", "$ticket:x"),
      () => connections.list("$ticket:x", { limit: 1 }),
      () => publisher.publish("$ticket:x", "x"),
    ]
  ) await assertRejects(use, ConfigurationError, "does not begin with $ticket:");
});

Deno.test({
  name: "createConnectionStore() works on the distributed engine, whose migration is translated",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withDistSqlServer({}, async (config) => {
      const db = await getDrizzleClient(config);
      for (const statement of SUBSCRIPTION_MIGRATION_SQL.split("--> statement-breakpoint")) {
        await db.execute(sql.raw(sanitizeForDistSql(statement)!));
      }
      const store = createConnectionStore(() => db);
      await store.subscribe("a", "t1", "t2");
      await store.subscribe("b", "t1");
      assertEquals(await store.list("t1", { limit: 10 }), ["a", "b"]);
      const ticketing = createConnectionTickets(() => db);
      const ticket = await ticketing.createConnectionTicket(ADA);
      const event = createRestApiEvent({ query: { ticket } });
      assertEquals(await ticketing.authenticate(event), { userId: "ada" });
      await assertRejects(async () => await ticketing.authenticate(event), UnauthorizedError);
      assertEquals(await store.findTopics("a", "t2"), ["t2"]);
      await store.unsubscribe("b", "t1");
      assertEquals(await store.list("t1", { limit: 10 }), ["a"]);
      await db.execute(sql`UPDATE websocket_subscriptions SET expires_at = now()`);
      assertEquals(await store.removeExpired(), 2);
      const topics = Array.from({ length: 1600 }, (_, index) => `many${index}`);
      for (const id of ["c", "d"]) await store.subscribe(id, ...topics);
      // more rows than one transaction of the engine may change
      await store.remove("c", "d");
      assertEquals(await store.list("many7", { limit: 10 }), []);
    }),
});

Deno.test("createConnectionStore() and createPublisher() refuse invalid options, names and messages", async () => {
  assertThrows(
    () => createConnectionStore(() => database.db, { maxAgeSeconds: 1 }),
    ConfigurationError,
    "maxAgeSeconds is 1",
  );
  assertThrows(() => createPublisher({ connections } as never), ConfigurationError, "endpoint");
  await assertRejects(() => connections.subscribe("c", ""), ConfigurationError, "1 to 200");
  await assertRejects(() => connections.remove(undefined as never), ConfigurationError);
  await assertRejects(() => publisher.publish("all", "x".repeat(131_073)), PayloadTooLargeError);
  // it was sent as an empty message
  await assertRejects(() => publisher.publish("all", undefined), TypeError, "cannot be serialised");
  await assertRejects(() => publisher.send("c", () => {}), TypeError, "cannot be serialised");
});
