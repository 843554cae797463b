/** A function of the project in lean_project.ts with jobs, idempotency and a limit of requests. */
const API = "src/functions/api";

const JOBS = `import { defineJob } from "@trellis/fn/jobs";
import * as z from "zod";
import { addNote } from "./queries.ts";
const schema = z.object({ id: z.number(), title: z.string() });
const empty = { color: null, meta: null, tags: null };
export const copyNote = defineJob({
  name: "copy", schema, transaction: true, retry: { maxAttempts: 2, baseDelaySeconds: 0 },
})(async function copyNote({ payload, tx }) {
  await addNote.on(tx, { ...empty, ...payload });
});
export const ping = defineJob({ name: "ping", schema: z.number() })(function ping() {});
`;

const FUNCTION = `import { buildValidatedResponse } from "@trellis/fn/core";
import { configureRateLimits, withTransaction } from "@trellis/fn/database";
import { createTransactionStore, removeExpiredRecords } from "@trellis/fn/idempotency";
import { cancelJobs, defineJobRelayHandler, getJob, listJobs, retryJobs } from "@trellis/fn/jobs";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
import { getDb } from "../../database.ts";
import { copyNote, ping } from "../../jobs.ts";
import { addNote } from "../../queries.ts";

const Note = z.object({ id: z.number(), title: z.string() });
const quiet = { logging: { level: "SILENT" }, metrics: false } as const;
const empty = { color: null, meta: null, tags: null };
configureRateLimits(getDb);

const add = defineApiHandler({ ...quiet, schema: Note, idempotency: { store: createTransactionStore(getDb) } })(
  async function add({ context, body, tx }) {
    await addNote.on(tx, { ...empty, ...body });
    await copyNote.enqueue(tx, { id: body.id + 100, title: \`\${body.title} again\` });
    return buildValidatedResponse(context, 201, { id: body.id });
  },
);
const limited = defineApiHandler({ ...quiet, rateLimit: { limit: 2, windowSeconds: 3600, by: () => "all" } })(
  function limited() { return { statusCode: 204, body: "" }; },
);
const relay = defineJobRelayHandler({ ...quiet, getDb, jobs: [copyNote, ping] });

export const handler = defineApiHandler({})(async function features({ event, context }) {
  const send = async (key: string | undefined, id: number, title: string) => {
    const headers = key === undefined ? {} : { "Idempotency-Key": key };
    const { statusCode, headers: answered, body } = await add(
      { ...event, httpMethod: "POST", headers, body: JSON.stringify({ id, title }) } as never, context,
    );
    const { id: added, message } = JSON.parse(body);
    return [statusCode, answered?.["Idempotency-Replayed"], added ?? message];
  };
  const count = async () => {
    const { statusCode, headers } = await limited({ ...event } as never, context);
    return [statusCode, Number(headers?.["Retry-After"] ?? 0) > 3000];
  };
  const db = await getDb();
  const id = await ping.enqueue(db, 1, { key: "once" });
  const isSame = await ping.enqueue(db, 2, { key: "once" }) === id;
  const rolledBack = await withTransaction(db, async (tx) => {
    await ping.enqueueMany(tx, [7, 8]);
    throw new Error("rolled back");
  }).catch((error) => error.message);
  const many = await withTransaction(db, (tx) => ping.enqueueMany(tx, Array.from({ length: 12 }, (_, n) => n), { group: "g" }));
  const added = [
    await send("k-1", 20, "twenty"),
    await send("k-1", 20, "twenty"),
    await send("k-1", 21, "other"),
    await send("k-2", 22, "first"),
    await send("k-2", 22, "first"),
    await send(undefined, 23, "no key"),
    // the jobs of the notes 20 and 25 find their titles taken
    await send("k-3", 24, "twenty again"),
    await send("k-4", 25, "other"),
    await send("k-5", 26, "other again"),
  ];
  const counts = [await count(), await count(), await count()];
  const due = { time: new Date().toISOString() } as never;
  const { delivered, dead } = await relay(due, context) as any;
  const again = await relay(due, context) as any;
  const jobs = (await listJobs(db)).map(({ name, state, attempts, group, lastError }) => [name, state, attempts, group, lastError]);
  const [failed] = await listJobs(db, { state: "dead", limit: 1 });
  const changed = failed && [
    (await retryJobs(db, [failed.id])).length,
    (await cancelJobs(db, [failed.id])).length,
    (await getJob(db, failed.id))?.state,
    (await getJob(db, failed.id))?.payload,
  ];
  return buildValidatedResponse(context, 200, {
    isSame, rolledBack, many: many.length, added, counts, delivered, dead, again, jobs, changed,
    removed: await removeExpiredRecords(getDb),
  });
});
`;

/** The files of the function. */
export const FEATURE_FILES: Readonly<Record<string, string>> = {
  "src/jobs.ts": JOBS,
  [`${API}/features.post.ts`]: FUNCTION,
};

const TAKEN = "A row with the same values exists already";
const DEAD = [
  `UnexpectedError (UNEXPECTED): ${TAKEN}`,
  `UniqueViolationError (UNIQUE_VIOLATION): ${TAKEN}`,
  'PostgresError: duplicate key value violates unique constraint "notes_title_key"',
].join("\n");
const COPIED = ["copy", "done", 1, null, null];
const FAILED = ["copy", "dead", 2, null, DEAD];

/** What the function answers. */
export const FEATURES = {
  isSame: true,
  rolledBack: "rolled back",
  many: 12,
  added: [
    [201, null, 20],
    [201, "true", 20],
    [422, null, "The idempotency key was used for another request: send a new key"],
    [409, null, TAKEN],
    [409, "true", TAKEN],
    [400, null, "Idempotency-Key is missing: send a new UUID with each new request"],
    [201, null, 24],
    [201, null, 25],
    [201, null, 26],
  ],
  counts: [[204, false], [204, false], [429, true]],
  // 17 jobs, of which two run twice
  delivered: 19,
  dead: 2,
  again: { delivered: 0, removed: 0, oldestSeconds: 0, dead: 2 },
  jobs: [
    COPIED,
    FAILED,
    COPIED,
    FAILED,
    ...Array.from({ length: 12 }, () => ["ping", "done", 1, "g", null]),
    ["ping", "done", 1, null, null],
  ],
  changed: [1, 1, "cancelled", '{"id":125,"title":"other again"}'],
  removed: 0,
};
