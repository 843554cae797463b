/** The tables of the notes application in `bench/apps`, and one request of each kind. */
import { createHmac } from "node:crypto";
import connect from "postgres";
import { AUTH_MIGRATION_SQL } from "../../auth/mod.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../database/mod.ts";
import { createRestApiEvent, type EventOptions } from "../../testing/mod.ts";

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

/** Environment variables of the application, without the URL of its database. */
export const VARIABLES = {
  POOL_SIZE: "1",
  AUTH_SECRET: "a secret of at least thirty-two characters",
  AUTH_BASE_URL: "https://api.example.com",
  WEBHOOK_SECRET,
} as const;

/** Functions of the application, by the folder of their bundle, with their sources. */
export const FUNCTIONS = {
  Auth: "standalone/auth.ts",
  NotesGet: "api/notes/index.get.ts",
  NotesByIdGet: "api/notes/[id]/index.get.ts",
  NotesPost: "api/notes/index.post.ts",
  WebhooksNotes: "api/webhooks/notes.post.ts",
} as const;

/** Name of a function of the application. */
export type FunctionName = keyof typeof FUNCTIONS;

/** Answer of a function. */
export interface Answer {
  readonly statusCode?: number;
  readonly body: string;
}

/** Hands an event to a function. */
export type Send<T extends Answer> = (name: FunctionName, event: unknown) => Promise<T>;

/** A kind of request. */
export type Kind =
  | "signUp"
  | "signIn"
  | "create"
  | "invalid"
  | "get"
  | "list"
  | "anonymous"
  | "webhook";

/** Sends one request of each kind. */
export interface Requests<T extends Answer> {
  /** The status of the answers. */
  readonly status: Record<Kind, number>;
  readonly send: Record<Kind, () => Promise<T>>;
}

/** Creates the application's tables in an empty database. */
export async function migrate(database: string): Promise<void> {
  const client = connect(database, { max: 1, onnotice() {} });
  await client.unsafe(AUTH_MIGRATION_SQL);
  await client.unsafe(RATE_LIMIT_MIGRATION_SQL);
  await client.unsafe(APPLICATION_SQL);
  await client.end();
}

let address = 0;

/** Creates an event. Each comes from another address, so that limits by address never apply. */
function createEvent(options: EventOptions): unknown {
  const event = createRestApiEvent(options);
  const identity = { ...event.requestContext.identity, sourceIp: `10.0.0.${++address}` };
  return { ...event, requestContext: { ...event.requestContext, identity } };
}

/**
 * Signs a user up, who has a label and a note and sends the requests.
 *
 * @param send Hands an event to a function.
 * @param database URL of the database, with the tables of {@link migrate}.
 */
export async function createRequests<T extends Answer>(
  send: Send<T>,
  database: string,
): Promise<Requests<T>> {
  const sign = (path: string, email: string) =>
    send(
      "Auth",
      createEvent({
        method: "POST",
        path: `/api/auth/${path}/email`,
        body: { name: "Ada", email, password: "correct horse battery" },
      }),
    );
  const { token, user } = JSON.parse((await sign("sign-up", "ada@example.com")).body);
  const client = connect(database, { max: 1 });
  await client`insert into labels values (${LABEL}, ${user.id}, 'Home')`;
  await client.end();
  const headers = { authorization: `Bearer ${token}` };
  const post = (body: unknown) =>
    send("NotesPost", createEvent({ method: "POST", path: "/notes", headers, body }));
  const { id } = JSON.parse((await post(NOTE)).body);
  const get = { path: `/notes/${id}`, headers, pathParameters: { id } };
  let users = 0;
  return {
    status: {
      signUp: 200,
      signIn: 200,
      create: 201,
      invalid: 400,
      get: 200,
      list: 200,
      anonymous: 401,
      webhook: 200,
    },
    send: {
      signUp: () => sign("sign-up", `user-${++users}@example.com`),
      signIn: () => sign("sign-in", "ada@example.com"),
      create: () => post(NOTE),
      invalid: () => post({ ...NOTE, priority: 9 }),
      get: () => send("NotesByIdGet", createEvent(get)),
      list: () => send("NotesGet", createEvent({ path: "/notes", headers })),
      anonymous: () => send("NotesGet", createEvent({ path: "/notes" })),
      webhook: () => send("WebhooksNotes", createWebhookEvent()),
    },
  };
}

function createWebhookEvent(): unknown {
  const body = JSON.stringify({ id: crypto.randomUUID(), type: "note.shared" });
  const signature = createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex");
  return createEvent({
    method: "POST",
    path: "/webhooks/notes",
    headers: { "X-Hub-Signature-256": `sha256=${signature}` },
    body,
  });
}
