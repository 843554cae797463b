// What the published declarations infer. Compiled, never run.
import {
  buildValidatedResponse,
  defineApiHandler,
  type ProxyResult,
  type UserStatus,
} from "@trellis/fn";
import { type AuthConfig, configureSessionAuth, type SessionResult } from "@trellis/fn/auth";
import { authUsers } from "@trellis/fn/auth/schema";
import {
  createQueryFactory,
  DatabaseOperation,
  getDrizzleClient,
  withTransaction,
} from "@trellis/fn/database";
import { eq, type InsertModel, type SelectModel, type UpdateModel } from "@trellis/fn/database/orm";
import { defineConfig } from "@trellis/fn/cli";
import { defineEnv } from "@trellis/fn/env";
import { type AppError, isAppError, ValidationError } from "@trellis/fn/errors";
import { defineQueueHandler } from "@trellis/fn/triggers";
import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
import {
  toJsonSchema,
  validateSchema,
  type ValidationResult,
  z as ours,
  type ZodType,
} from "@trellis/fn/validation";
import { pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import * as z from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true
  : false;
function check<T extends true>(_?: T): void {}

// parameters are exactly what the options call for
export const plain = defineApiHandler({})(function plain(params) {
  check<Equal<keyof typeof params, "event" | "context" | "metadata">>();
  return buildValidatedResponse(params.context, 200, { ok: true });
});

const Body = z.object({ title: z.string(), tags: z.array(z.string()).default([]) });
const Query = z.object({ limit: z.coerce.number().default(20) });

export const full = defineApiHandler({
  auth: "session",
  schema: Body,
  querySchema: Query,
  pathSchema: z.object({ id: z.uuid() }),
})(function full({ body, query, path, userId, session, context, metadata }) {
  check<Equal<typeof body, { title: string; tags: string[] }>>();
  check<Equal<typeof query, { limit: number }>>();
  check<Equal<typeof path, { id: string }>>();
  check<Equal<typeof userId, string>>();
  check<Equal<typeof session, SessionResult>>();
  check<Equal<typeof metadata.correlationId, string>>();
  return buildValidatedResponse(context, 200, body, Body);
});

export const optional = defineApiHandler({ auth: "authorizer-optional" })(
  function optional({ userId, userStatus, context }) {
    check<Equal<typeof userId, string | undefined>>();
    check<Equal<typeof userStatus, UserStatus>>();
    return buildValidatedResponse(context, 204);
  },
);

// @ts-expect-error: no schema, no body
defineApiHandler({ querySchema: Query })(({ body, context }) =>
  buildValidatedResponse(context, 200, body)
);
// @ts-expect-error: no auth, no user
defineApiHandler({ schema: Body })(({ userId, context }) =>
  buildValidatedResponse(context, 200, userId)
);
// @ts-expect-error: no such mode
defineApiHandler({ auth: "sessions" });

// `z` of the package and zod's own are the same types
export const withOurs = defineApiHandler({ schema: ours.object({ n: ours.number() }) })(
  function withOurs({ body, context }) {
    check<Equal<typeof body, { n: number }>>();
    return buildValidatedResponse(context, 200);
  },
);
export const anySchema: ZodType<string> = z.string();
check<Equal<ours.infer<typeof Body>, z.infer<typeof Body>>>();

// results narrow by `success`
const result = validateSchema(Body, {});
check<Equal<typeof result, ValidationResult<z.infer<typeof Body>>>>();
if (result.success) check<Equal<typeof result.data.title, string>>();
else check<Equal<typeof result.errors, Record<string, string[]>>>();
toJsonSchema(Body, { target: "draft-07" });

// tables and queries
const notes = pgTable("notes", {
  id: uuid("id").primaryKey().defaultRandom(),
  userId: uuid("user_id").notNull(),
  title: text("title").notNull(),
  body: text("body"),
  createdAt: timestamp("created_at").notNull().defaultNow(),
});
check<Equal<SelectModel<typeof notes>["body"], string | null>>();
check<Equal<InsertModel<typeof notes>["id"], string | undefined>>();
const update: UpdateModel<typeof notes, "userId"> = { title: "t", body: null };
// @ts-expect-error: the named keys and the timestamps are left out
update.userId = "u";
check<Equal<SelectModel<typeof authUsers>["emailVerified"], boolean>>();

const schema = { notes, authUsers };
const getDb = () => getDrizzleClient({ provider: "distsql", endpoint: "x", username: "y", schema });
const { defineQuery, definePreparedQuery } = createQueryFactory(getDb);
export const findNote = defineQuery(
  { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
  async function findNote(db, id: string) {
    const [note] = await db.select({ title: notes.title }).from(notes).where(eq(notes.id, id));
    return note;
  },
);
check<Equal<Parameters<typeof findNote>, [id: string]>>();
check<Equal<NonNullable<Awaited<ReturnType<typeof findNote>>>, { title: string }>>();
export const byUser = definePreparedQuery(
  { tables: [{ table: "notes", operations: [DatabaseOperation.Select] }] },
  async function byUser(db, userId: string) {
    return await db.query.notes.findMany({
      where: eq(notes.userId, userId),
      columns: { title: true },
    });
  },
);
check<Equal<Awaited<ReturnType<typeof byUser>>, { title: string }[]>>();
export const inTransaction = async (): Promise<number> =>
  await withTransaction(await getDb(), async (tx) => (await tx.select().from(notes)).length);

// configuration: an optional setting may be given as undefined, or left out
export const authConfig: AuthConfig = {
  secret: "s",
  baseURL: "https://x.test",
  socialProviders: {},
};
configureSessionAuth(getDb, authConfig);
export default defineConfig({});

// the rest
const env = defineEnv({
  PORT: { schema: z.coerce.number(), default: 1 },
  KEY: { secret: true, optional: true },
});
export const settings = (): void => check<Equal<typeof env.PORT, number>>();
export const key = (): string | undefined => env.KEY;
export const queue = defineQueueHandler({ schema: Body })(function queue({ body }) {
  check<Equal<typeof body, z.infer<typeof Body>>>();
});
export async function call(): Promise<ProxyResult> {
  return await plain(createRestApiEvent({ method: "GET" }), createLambdaContext());
}
export function read(error: unknown): number {
  if (isAppError(error, "VALIDATION_FAILED")) check<Equal<typeof error, AppError>>();
  // @ts-expect-error: no such code
  isAppError(error, "VALIDATION");
  return error instanceof ValidationError ? error.statusCode : 500;
}
