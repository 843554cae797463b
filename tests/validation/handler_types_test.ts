/**
 * Types are asserted by compiling this file: `Equal` fails at `deno check`, and an `@ts-expect-error` without an error
 * below it does too. What runs is only what shows that values and types agree.
 */
import { assertEquals, assertStrictEquals } from "@std/assert";
import type * as aws from "aws-lambda";
import { organization as organizations } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { pgTable, text } from "drizzle-orm/pg-core";
import * as z from "zod";
import * as mini from "zod/mini";
import type {
  AlbEvent,
  AuthorizerContext,
  HttpApiEvent,
  LambdaContext,
  ProxyResult,
  RestApiEvent,
  SessionResult,
  UserStatus,
  WrapperMetadata,
} from "../../core/mod.ts";
import * as Auth from "../../auth/mod.ts";
import { createGatewayJwtAuth, createJwtAuth, type JwtIdentity } from "../../auth/jwt/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { apikey } from "../auth/api_keys_database.ts";
import {
  type ApiHandler,
  type ApiHandlerParams,
  type AuthorizedApiParams,
  type AuthorizedOptionalApiParams,
  defineApiHandler,
  type SessionApiParams,
  type ValidatedApiParams,
  validateSchema,
  type ValidationResult,
} from "../../validation/mod.ts";

/** `true` when both types are the same, optional and readonly members included. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

/** Compiles only for `true`. */
function proves<_ extends true>(): void {}

type Base = { event: RestApiEvent; context: LambdaContext; metadata: WrapperMetadata };
type Body = { body: { title: string; count: number } };
type Query = { query: { limit: number } };
type Path = { path: { noteId: string } };
type Known = { authorizer: AuthorizerContext; userId: string; userStatus: UserStatus };
type MaybeKnown = {
  authorizer: AuthorizerContext;
  userId: string | undefined;
  userStatus: UserStatus;
};
type Session = { userId: string; session: SessionResult };
type Flat<T> = { [K in keyof T]: T[K] };

const schema = z.object({ title: z.string(), count: z.coerce.number().default(1) });
const querySchema = z.object({ limit: z.coerce.number().default(20) });
const pathSchema = mini.object({ noteId: mini.string() });
const OK: ProxyResult = { statusCode: 200, body: "" };

Deno.test("the handler's parameters are exactly those that the inputs call for", () => {
  defineApiHandler()((params) => (proves<Equal<typeof params, Flat<Base>>>(), OK));
  defineApiHandler({})((params) => (proves<Equal<typeof params, Flat<Base>>>(), OK));
  defineApiHandler({ schema })((params) => (proves<Equal<typeof params, Flat<Base & Body>>>(), OK));
  defineApiHandler({ querySchema })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Query>>>(), OK));
  defineApiHandler({ pathSchema })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Path>>>(), OK));
  defineApiHandler({ schema, querySchema })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Body & Query>>>(), OK));
  defineApiHandler({ schema, pathSchema })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Body & Path>>>(), OK));
  defineApiHandler({ querySchema, pathSchema })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Query & Path>>>(), OK));
  defineApiHandler({ schema, querySchema, pathSchema })((params) => (
    proves<Equal<typeof params, Flat<Base & Body & Query & Path>>>(), OK
  ));
});

Deno.test("the handler's parameters are exactly those that each auth mode calls for", () => {
  defineApiHandler({ auth: "none" })((params) => (proves<Equal<typeof params, Flat<Base>>>(), OK));
  defineApiHandler({ auth: "bearer" })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base>>>(), OK));
  defineApiHandler({ auth: "authorizer" })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Known>>>(), OK));
  defineApiHandler({ auth: "authorizer-optional" })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & MaybeKnown>>>(), OK));
  defineApiHandler({ auth: "session" })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Session>>>(), OK));
});

type ActiveOrganization = Auth.ActiveOrganization;

Deno.test("the handler's parameters are exactly those of the claims of a token", () => {
  const issuer = { issuer: "https://login.example.com", audience: "notes" };
  const claims = z.object({ scope: z.string() });
  defineApiHandler({ auth: createJwtAuth({ ...issuer, claims }), querySchema })((params) => (
    proves<Equal<typeof params, Flat<Base & Query & JwtIdentity<{ scope: string }>>>>(), OK
  ));
  defineApiHandler({ auth: createGatewayJwtAuth(issuer) })((params) => (
    proves<Equal<typeof params, Flat<Base & JwtIdentity>>>(), OK
  ));
});

const access = createAccessControl({ notes: ["read", "write"] });
const roleTable = pgTable("people", {
  ...Auth.AUTH_USER_COLUMNS,
  role: text("role", { enum: ["admin", "guest"] }).notNull(),
  plan: text("plan"),
  secretNote: text("secret_note"),
});
const { session, apiKey, jwt } = Auth.defineAuth(() => Promise.reject(new Error("not needed")), {
  secret: "at-least-32-random-characters-0123456789",
  baseURL: "http://localhost:3000",
  schema: { user: roleTable, apikey },
  user: { additionalFields: { secretNote: { type: "string", returned: false } } },
  plugins: () => [
    organizations({ ac: access, roles: { owner: access.newRole({ notes: ["read", "write"] }) } }),
  ],
});

Deno.test("values of defineAuth() give handlers the session of the configuration", () => {
  defineApiHandler({ auth: session(), schema })(({ body, userId, session: { user } }) => (
    proves<Equal<typeof body, Body["body"]>>(),
      proves<Equal<typeof userId, string>>(),
      proves<Equal<typeof user.role, "admin" | "guest">>(),
      proves<Equal<typeof user.plan, string | null>>(),
      // @ts-expect-error returned: false
      (() => user.secretNote),
      // @ts-expect-error a check of sessions does not return it
      (() => user.createdAt),
      OK
  ));
  defineApiHandler({ auth: session({ optional: true }) })(({ userId, session }) => (
    proves<Equal<typeof userId, string | undefined>>(),
      // @ts-expect-error it may be missing
      (() => session.user),
      OK
  ));
  defineApiHandler({ auth: session({ organization: { role: "owner" } }) })(({ organization }) => (
    proves<Equal<typeof organization, ActiveOrganization>>(), OK
  ));
  defineApiHandler({
    auth: session({
      roles: ["admin"],
      freshWithinSeconds: 300,
      authorize: (
        { session },
      ) => (proves<Equal<typeof session.user.role, "admin" | "guest">>(), true),
    }),
  })(({ session }) => (proves<Equal<typeof session.user.role, "admin" | "guest">>(), OK));
  defineApiHandler({ auth: apiKey({ permissions: { notes: ["read"] } }) })((params) => (
    proves<Equal<typeof params, Flat<Base & Auth.ApiKeyIdentity>>>(), OK
  ));
  const claims = z.object({ scope: z.string() });
  const issuer = { issuer: "https://login.example.com", audience: "notes" };
  defineApiHandler({ auth: jwt({ ...issuer, claims }) })((params) => (
    proves<Equal<typeof params, Flat<Base & JwtIdentity<{ scope: string }>>>>(), OK
  ));
  const refused = [
    // @ts-expect-error no such role
    () => session({ roles: ["admn"] }),
    // @ts-expect-error no such role in organizations
    () => session({ organization: { role: "admin" } }),
    // @ts-expect-error no such permission
    () => apiKey({ permissions: { notes: ["delete"] } }),
    // @ts-expect-error no such resource
    () => apiKey({ permissions: { rooms: ["read"] } }),
    // @ts-expect-error it is an option of session()
    () => defineApiHandler({ auth: session(), roles: ["admin"] }),
    // @ts-expect-error the value, not the function that returns it
    () => defineApiHandler({ auth: session }),
  ];
  assertEquals(refused.length, 6);
});

Deno.test("authorize of session() gets the organization if the handler asks for it", () => {
  session({
    organization: {},
    authorize: (
      { organization },
    ) => (proves<Equal<typeof organization, ActiveOrganization>>(), Promise.resolve("no")),
  });
});

Deno.test("inputs and auth modes add up", () => {
  defineApiHandler({ auth: "bearer", schema })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Body>>>(), OK));
  defineApiHandler({ auth: "authorizer", schema, querySchema })((params) => (
    proves<Equal<typeof params, Flat<Base & Body & Query & Known>>>(), OK
  ));
  defineApiHandler({ auth: "authorizer-optional", pathSchema })((params) => (
    proves<Equal<typeof params, Flat<Base & Path & MaybeKnown>>>(), OK
  ));
  defineApiHandler({ auth: "session", schema, querySchema, pathSchema })((params) => (
    proves<Equal<typeof params, Flat<Base & Body & Query & Path & Session>>>(), OK
  ));
});

Deno.test("other options leave the parameters as they are", () => {
  const options = {
    timeout: 30,
    responseSchema: z.object({}),
    openapi: { summary: "x" },
    cors: "*",
    logging: {},
  } as const;
  defineApiHandler({ ...options, schema })((
    params,
  ) => (proves<Equal<typeof params, Flat<Base & Body>>>(), OK));
});

Deno.test("a body's type is what comes out of the schema", () => {
  defineApiHandler({ schema: z.string().transform((text) => text.length) })(({ body }) => (
    proves<Equal<typeof body, number>>(), OK
  ));
  defineApiHandler({ schema: z.unknown() })((
    { body },
  ) => (proves<Equal<typeof body, unknown>>(), OK));
  defineApiHandler({ schema: z.compile(schema) })((
    { body },
  ) => (proves<Equal<typeof body, Body["body"]>>(), OK));
  defineApiHandler({ schema: z.object({ a: z.string().optional() }) })(({ body }) => (
    proves<Equal<typeof body, { a?: string | undefined }>>(), OK
  ));
  defineApiHandler({
    schema: z.discriminatedUnion("k", [
      z.object({ k: z.literal("a") }),
      z.object({ k: z.literal("b") }),
    ]),
  })(
    ({ body }) => (proves<Equal<typeof body, { k: "a" } | { k: "b" }>>(), OK),
  );
});

Deno.test("what the options leave out, and what they do not know, does not compile", () => {
  // @ts-expect-error no schema, no body
  defineApiHandler({})(({ body }) => (body, OK));
  // @ts-expect-error no querySchema, no query
  defineApiHandler({ schema })(({ query }) => (query, OK));
  // @ts-expect-error no pathSchema, no path
  defineApiHandler({ schema })(({ path }) => (path, OK));
  // @ts-expect-error auth none knows no user
  defineApiHandler({})(({ userId }) => (userId, OK));
  // @ts-expect-error auth bearer knows no user
  defineApiHandler({ auth: "bearer" })(({ userId }) => (userId, OK));
  // @ts-expect-error auth authorizer has no session
  defineApiHandler({ auth: "authorizer" })(({ session }) => (session, OK));
  // @ts-expect-error auth session has no status
  defineApiHandler({ auth: "session" })(({ userStatus }) => (userStatus, OK));
  // @ts-expect-error a user may be missing in authorizer-optional
  defineApiHandler({ auth: "authorizer-optional" })(({ userId }) => (userId.length, OK));
  // @ts-expect-error the schema does not name it
  defineApiHandler({ schema })(({ body }) => (body.other, OK));
  // @ts-expect-error a handler answers with a proxy result
  defineApiHandler({})(() => "ok");
  // @ts-expect-error the status is a number
  defineApiHandler({})(() => ({ statusCode: "200", body: "" }));
  const refused = [
    // @ts-expect-error no such mode
    () => defineApiHandler({ auth: "basic" }),
    // @ts-expect-error no such option
    () => defineApiHandler({ scheme: schema }),
    // @ts-expect-error a schema is an object of zod
    () => defineApiHandler({ schema: "string" }),
    // @ts-expect-error cors has no such form
    () => defineApiHandler({ cors: true }),
    // @ts-expect-error roles is an option of session()
    () => defineApiHandler({ auth: "session", roles: ["admin"] }),
    // @ts-expect-error keys have no name: apiKey() of defineAuth
    () => defineApiHandler({ auth: "api-key" }),
    // @ts-expect-error a decision is a boolean or a reason
    () => session({ authorize: () => 1 }),
  ];
  assertEquals(refused.length, 7);
});

// handlers that are written apart from their wrapper
function none({ event, metadata }: ApiHandlerParams): ProxyResult {
  return { statusCode: 200, body: `${event.path} ${metadata.operationName}` };
}
function validated({ body, query }: ValidatedApiParams<Body["body"], Query["query"]>): ProxyResult {
  return { statusCode: 200, body: body.title + query.limit };
}
function queryOnly({ query }: ValidatedApiParams<never, Query["query"]>): ProxyResult {
  return { statusCode: 200, body: String(query.limit) };
}
function authorized({ userId, body }: AuthorizedApiParams<Body["body"]>): ProxyResult {
  return { statusCode: 200, body: userId + body.title };
}
function optional({ userId, userStatus }: AuthorizedOptionalApiParams): ProxyResult {
  return { statusCode: 200, body: `${userId} ${userStatus}` };
}
function withSession(
  { session, path }: SessionApiParams<never, never, Path["path"]>,
): Promise<ProxyResult> {
  return Promise.resolve({ statusCode: 200, body: session.user.id + path.noteId });
}

Deno.test("a handler that names its parameters' type fits the wrapper, and no other", () => {
  defineApiHandler({})(none);
  defineApiHandler({ schema, querySchema })(validated);
  defineApiHandler({ querySchema })(queryOnly);
  defineApiHandler({ auth: "authorizer", schema })(authorized);
  defineApiHandler({ auth: "authorizer-optional" })(optional);
  defineApiHandler({ auth: "session", pathSchema })(withSession);
  // one that asks for less fits too
  defineApiHandler({ auth: "session", schema })(none);
  // @ts-expect-error nobody checks the session that it asks for
  defineApiHandler({ pathSchema })(withSession);
  // @ts-expect-error nobody validates the query that it asks for
  defineApiHandler({ schema })(validated);
  // @ts-expect-error the user may be missing
  defineApiHandler({ auth: "authorizer-optional", schema })(authorized);
});

Deno.test("the wrapped handler carries the type of the inner one", () => {
  const wrapped = defineApiHandler({ auth: "session", pathSchema })(withSession);
  proves<
    Equal<Parameters<typeof wrapped.handler>[0], SessionApiParams<never, never, Path["path"]>>
  >();
  proves<Equal<typeof wrapped, ApiHandler<SessionApiParams<never, never, Path["path"]>>>>();
  assertStrictEquals(wrapped.handler, withSession);
});

Deno.test("a handler is tested apart from its wrapper", () => {
  const metadata = {
    correlationId: "c",
    traceId: undefined,
    requestId: "r",
    operationName: "Op",
    coldStart: false,
  };
  const event = createRestApiEvent({ path: "/notes" });
  assertEquals((none({ event, context: createLambdaContext(), metadata })).body, "/notes Op");
});

Deno.test("ValidationResult distinguishes data from errors by success", () => {
  const result: ValidationResult<{ title: string; count: number }> = validateSchema(schema, {
    title: "x",
  });
  if (result.success) proves<Equal<typeof result.data, { title: string; count: number }>>();
  else proves<Equal<typeof result.errors, Record<string, string[]>>>();
  // @ts-expect-error data may be missing before success is checked
  const data: { title: string } = result.data;
  assertEquals(data.title, "x");
});

Deno.test("events, context and handlers of @types/aws-lambda fit", () => {
  const handler = defineApiHandler({})(() => OK);
  const rest: aws.APIGatewayProxyHandler = handler;
  const restAuthorized: aws.APIGatewayProxyWithLambdaAuthorizerHandler<{ userId: string }> =
    handler;
  const http: aws.APIGatewayProxyHandlerV2 = handler;
  const functionUrl: aws.LambdaFunctionURLHandler = handler;
  const alb: aws.ALBHandler = handler;
  const restEvent = (event: aws.APIGatewayProxyEvent): RestApiEvent => event;
  const httpEvent = (event: aws.APIGatewayProxyEventV2): HttpApiEvent => event;
  const httpAuthorized = (
    event: aws.APIGatewayProxyEventV2WithLambdaAuthorizer<{ userId: string }>,
  ): HttpApiEvent => event;
  const urlEvent = (event: aws.LambdaFunctionURLEvent): HttpApiEvent => event;
  const albEvent = (event: aws.ALBEvent): AlbEvent => event;
  const lambdaContext = (context: aws.Context): LambdaContext => context;
  const result = (ours: ProxyResult): aws.APIGatewayProxyResult => ours;
  const resultV2 = (ours: ProxyResult): aws.APIGatewayProxyStructuredResultV2 => ours;
  const albResult = (ours: ProxyResult): aws.ALBResult => ours;
  const theirs = (given: aws.APIGatewayProxyResult): ProxyResult => given;
  const fits = [
    rest,
    restAuthorized,
    http,
    functionUrl,
    alb,
    restEvent,
    httpEvent,
    httpAuthorized,
    urlEvent,
    albEvent,
  ];
  assertEquals(
    [...fits, lambdaContext, result, resultV2, albResult, theirs].every((fn) =>
      typeof fn === "function"
    ),
    true,
  );
});
