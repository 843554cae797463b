/**
 * The round trips of the notes application in `bench/apps`: a change that adds one to a request
 * fails here. On a network each costs 0.3 to 1 ms.
 */
import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import connect from "postgres";
import { AUTH_MIGRATION_SQL } from "../../auth/mod.ts";
import { closeDrizzleClient, RATE_LIMIT_MIGRATION_SQL } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent, type EventOptions } from "../../testing/mod.ts";
import { startPostgres } from "../support/postgres.ts";
import { countRoundTrips } from "../support/round_trips.ts";

const APPLICATION_SQL = `
  create table labels (id uuid primary key default gen_random_uuid(), user_id text not null,
    name text not null);
  create table notes (id uuid primary key default gen_random_uuid(), user_id text not null,
    label_id uuid not null references labels, title text not null, body text not null,
    color text not null, priority int not null, pinned bool not null, tags text[] not null,
    due_at timestamptz(3), created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now());
  create table note_activity (id bigint primary key generated always as identity,
    note_id uuid not null references notes, user_id text not null, action text not null,
    at timestamptz not null default now());
  create table webhook_events (id text primary key, type text not null, payload jsonb not null,
    received_at timestamptz not null default now())`;
const WEBHOOK_SECRET = "secret of the webhook";
const LABEL = "11111111-1111-4111-8111-111111111111";
const NOTE = {
  title: "Milk",
  body: "Two bottles",
  labelId: LABEL,
  color: "blue",
  priority: 2,
  pinned: false,
  tags: ["shop"],
  dueAt: null,
};

const postgres = await startPostgres();
const target = await postgres.createDatabase("notes_trips");
const proxy = await countRoundTrips(target);
const VARIABLES = {
  DATABASE_URL: proxy.url,
  POOL_SIZE: "1",
  AUTH_SECRET: "a secret of at least thirty-two characters",
  AUTH_BASE_URL: "https://api.example.com",
  WEBHOOK_SECRET,
};
for (const [name, value] of Object.entries(VARIABLES)) Deno.env.set(name, value);
const SOURCES = "../../bench/apps/notes/src";
const { getDb } = await import(
  `${SOURCES}/database.ts`
) as typeof import("../../bench/apps/notes/src/database.ts");
const lines: string[] = [];
const restore = setLogOutput((line) => void lines.push(line));

type Handler = (event: never, context: never) => Promise<{ statusCode: number; body: string }>;
type Send = (options: EventOptions) => ReturnType<Handler>;

let address = 0;

/** Loads a function of the application. Each of its events comes from another address. */
async function load(path: string): Promise<Send> {
  const { handler } = await import(`${SOURCES}/functions/${path}`) as { handler: Handler };
  return function send(options) {
    const event = createRestApiEvent(options);
    const identity = { ...event.requestContext.identity, sourceIp: `10.0.0.${++address}` };
    const requestContext = { ...event.requestContext, identity };
    return handler({ ...event, requestContext } as never, createLambdaContext() as never);
  };
}

/** Sends requests and returns the round trips of the first and of the third. */
async function countTrips(
  status: number,
  send: () => ReturnType<Handler>,
): Promise<[first: number, warm: number]> {
  const trips: number[] = [];
  for (let n = 0; n < 3; n++) {
    const before = proxy.count();
    const { statusCode, body } = await send();
    assertEquals(statusCode, status, `${body}${lines.at(-1)}`);
    trips.push(proxy.count() - before);
  }
  return [trips[0], trips[2]];
}

async function migrate(): Promise<void> {
  const client = connect(target, { max: 1, onnotice() {} });
  await client.unsafe(AUTH_MIGRATION_SQL);
  await client.unsafe(RATE_LIMIT_MIGRATION_SQL);
  await client.unsafe(APPLICATION_SQL);
  await client.end();
}

Deno.test.afterAll(async () => {
  restore();
  for (const name of Object.keys(VARIABLES)) Deno.env.delete(name);
  await closeDrizzleClient();
  await proxy.stop();
  await postgres.stop();
});

Deno.test("a request of the notes application takes no more round trips than before", async () => {
  await migrate();
  const auth = await load("standalone/auth.ts");
  const [list, create, get] = await Promise.all(
    ["api/notes/index.get.ts", "api/notes/index.post.ts", "api/notes/[id]/index.get.ts"].map(load),
  );
  const webhook = await load("api/webhooks/notes.post.ts");
  const sign = (path: string, email: string) =>
    auth({
      method: "POST",
      path: `/api/auth/${path}/email`,
      body: { name: "Ada", email, password: "correct horse battery" },
    });
  let users = 0;
  const trips: Record<string, number> = {};
  [, trips.signUp] = await countTrips(200, () => sign("sign-up", `user-${++users}@example.com`));
  [, trips.signIn] = await countTrips(200, () => sign("sign-in", "user-1@example.com"));
  const { token, user } = JSON.parse((await sign("sign-in", "user-1@example.com")).body);
  const headers = { authorization: `Bearer ${token}` };
  await (await getDb()).execute(sql`insert into labels values (${LABEL}, ${user.id}, 'Home')`);
  const post = (body: unknown) => create({ method: "POST", path: "/notes", headers, body });
  [, trips.create] = await countTrips(201, () => post(NOTE));
  [, trips.invalid] = await countTrips(400, () => post({ ...NOTE, priority: 9 }));
  const { id } = JSON.parse((await post(NOTE)).body);
  [, trips.get] = await countTrips(
    200,
    () => get({ path: `/notes/${id}`, headers, pathParameters: { id } }),
  );
  // the first request of a process: connect, then the check with the session, then the notes
  await closeDrizzleClient();
  [trips.firstList, trips.list] = await countTrips(200, () => list({ path: "/notes", headers }));
  [, trips.anonymous] = await countTrips(401, () => list({ path: "/notes" }));
  [, trips.webhook] = await countTrips(200, () => {
    const body = JSON.stringify({ id: crypto.randomUUID(), type: "note.shared" });
    const signature = createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex");
    return webhook({
      method: "POST",
      path: "/webhooks/notes",
      headers: { "X-Hub-Signature-256": `sha256=${signature}` },
      body,
    });
  });
  assertEquals(trips, {
    signUp: 4,
    signIn: 2,
    create: 4,
    invalid: 1,
    get: 2,
    firstList: 3,
    list: 2,
    anonymous: 0,
    webhook: 1,
  });
});
