import type {
  ApiRoutes,
  CallBody,
  ErrorStatus,
  OkStatus,
  ResponseBody,
  RouteStatus,
} from "../client/client_types.ts";
import type { AuthorizerContext } from "../core/http/lambda.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import type { JobDetails } from "../jobs/job_admin.ts";
import type { MailMessage } from "../mail/transports.ts";

/** Options of {@link createTestClient}. */
export interface TestClientOptions {
  /**
   * Folder of the project, with `trellis.config.ts` if there is one.
   * @default the current folder
   */
  root?: string;
  /**
   * Folder of the migrations that the database starts with, relative to `root`. `false` opens no
   * database: the functions use the one that they are configured with.
   * @default the configured folder, if it exists
   */
  migrations?: string | false;
  /**
   * Environment variables of the functions, which are set before any of them is loaded. A variable
   * that is already set is kept.
   * @default AUTH_SECRET, a level of log lines that shows errors, no metrics, texts of `infra.environment`, and random
   * values for its secrets and for those that the sources require
   */
  env?: Readonly<Record<string, string>>;
}

/** A caller of requests: its credential. Users, API keys and tokens of the test client are callers. */
export interface TestCaller {
  /** Headers with the credential. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What an authorizer outside of the project returns. It replaces the project's authorizer. */
  readonly authorizer?: AuthorizerContext;
}

/** A user of {@link TestClient.createTestUser}, with a session. */
export interface TestUser extends TestCaller {
  /** Primary key. */
  readonly id: string;
  /** The address. */
  readonly email: string;
  /** The name. */
  readonly name: string;
  /** Token of the session. */
  readonly token: string;
  /** The session as a bearer token. */
  readonly headers: { readonly Authorization: string };
  /** Primary key of the organization. */
  readonly organizationId?: string;
}

/** Options of {@link TestClient.createTestUser}. */
export interface TestUserOptions {
  /**
   * The address.
   * @default a new one at example.com
   */
  email?: string;
  /**
   * The name.
   * @default "Test user"
   */
  name?: string;
  /** Slug of the organization that the user belongs to. It is created with its first user. */
  organization?: string;
  /**
   * The role in the organization; without one, the user's role of better-auth's admin plugin.
   * @default "owner" for the first user of an organization, then "member"
   */
  role?: string;
  /** Further columns of the user. */
  fields?: Readonly<Record<string, unknown>>;
}

/** What a request sends. */
export interface TestRequest {
  /** The caller. */
  as?: TestCaller;
  /**
   * The body. Texts, bytes, `FormData` (files), `URLSearchParams` and `Blob` are sent unchanged, other
   * values as JSON.
   */
  body?: unknown;
  /** Values of the path's parameters: `{ noteId }` for `/notes/{noteId}`. */
  path?: Readonly<Record<string, unknown>>;
  /** Query parameters. A list repeats a parameter; `undefined` leaves it out. */
  query?: Readonly<Record<string, unknown>>;
  /** Headers. */
  headers?: Readonly<Record<string, string>>;
  /** Cookies by name. */
  cookies?: Readonly<Record<string, string>>;
  /** The status that the response must have: another one rejects, with the response's body. */
  expect?: number;
}

/** A response. */
export interface TestResponse<Body = ReturnType<typeof JSON.parse>> {
  /** The status. */
  readonly status: number;
  /** The headers. */
  readonly headers: Headers;
  /** Values of the cookies that are set, by name. */
  readonly cookies: Readonly<Record<string, string>>;
  /** The body: parsed, if it is JSON, else its text; `undefined` if it is empty. */
  readonly body: Body;
  /** The body as bytes. */
  readonly bytes: Uint8Array;
}

/** The part of a call that a route declares: parameters and body, with the types of the generated client. */
export type TestCallInput<Route> =
  & (Route extends { parameters: infer Params } ? Omit<Params, "header" | "cookie"> : object)
  & (Route extends { requestBody: object } ? { body: CallBody<Route> }
    : { body?: CallBody<Route> });

/** What all calls have, whatever their route. */
export interface TestCallSettings<Status>
  extends Omit<TestRequest, "body" | "path" | "query" | "expect"> {
  /** The status that the response must have, which gives the body its type. */
  expect?: Status;
}

/** The options of a call: optional if the route needs none. */
export type TestCallOptions<Route, Status> = object extends TestCallInput<Route>
  ? [options?: TestCallInput<Route> & TestCallSettings<Status>]
  : [options: TestCallInput<Route> & TestCallSettings<Status>];

/** Calls the routes of one method. Without types of routes, any path can be called. */
export type TestMethod<Routes> = [keyof Routes] extends [never]
  ? (path: string, options?: TestRequest) => Promise<TestResponse>
  : <Path extends keyof Routes & string, Status extends RouteStatus<Routes[Path]> = never>(
    path: Path,
    ...options: TestCallOptions<Routes[Path], Status>
  ) => Promise<TestResponse<TestBody<Routes[Path], Status>>>;

/** The body of a response: that of the expected status, else that of a successful response. */
export type TestBody<Route, Status> = ResponseBody<
  Route,
  [Status] extends [never] ? Exclude<OkStatus, ErrorStatus<RouteStatus<Route>>> : Status
>;

/** A mail that the functions sent. */
export interface TestMail extends MailMessage {
  /** The links of the mail, each once. */
  readonly links: readonly string[];
}

/** The clock of the process, while a test client is open. */
export interface TestClock {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /**
   * Moves `Date` and the clock of the database forward. Timers and deadlines stay.
   *
   * @param ms Milliseconds.
   */
  advance(ms: number): void;
}

/** A connection of {@link TestClient.connect}. */
export interface TestSocket {
  /** The status of the handshake: 200, or why `$connect` or the authorizer refused it. */
  readonly status: number;
  /** Id of the connection. */
  readonly connectionId: string;
  /** The messages that the connection has received, oldest first; JSON is parsed. */
  messages(): ReturnType<typeof JSON.parse>[];
  /**
   * Sends a message to the function of its route.
   *
   * @param message A text, or a value that is sent as JSON. Its field `action` names the route.
   */
  send(message: unknown): Promise<void>;
  /** Closes the connection: `$disconnect` runs. */
  close(): Promise<void>;
}

/** Options of {@link TestClient.connect}. */
export interface TestSocketOptions extends Pick<TestRequest, "as" | "headers"> {
  /** Query parameters of the handshake. */
  query?: Readonly<Record<string, string>>;
}

/** An API key of {@link TestClient.createApiKey}. */
export interface TestApiKey extends TestCaller {
  /** The key. */
  readonly key: string;
  /** The key in its header. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A token of {@link TestClient.createJwt}. */
export interface TestJwt extends TestCaller {
  /** The token. */
  readonly token: string;
  /** The token as a bearer token. */
  readonly headers: { readonly Authorization: string };
}

/**
 * Calls the functions of a project in this process, with the events that AWS sends. `Routes` is the
 * interface `routes` of the generated client.
 */
export interface TestClient<Routes extends ApiRoutes = ApiRoutes> {
  /** Calls a route with GET. */
  readonly get: TestMethod<NonNullable<Routes["GET"]>>;
  /** Calls a route with POST. */
  readonly post: TestMethod<NonNullable<Routes["POST"]>>;
  /** Calls a route with PUT. */
  readonly put: TestMethod<NonNullable<Routes["PUT"]>>;
  /** Calls a route with PATCH. */
  readonly patch: TestMethod<NonNullable<Routes["PATCH"]>>;
  /** Calls a route with DELETE. */
  readonly delete: TestMethod<NonNullable<Routes["DELETE"]>>;
  /**
   * Sends any request, such as one that the types of the routes do not allow.
   *
   * @param method The method.
   * @param path The path, or the route's path with its parameters.
   * @returns The response.
   * @throws {ConfigurationError} If no function serves the path and method.
   */
  request(method: string, path: string, options?: TestRequest): Promise<TestResponse>;
  /** Sends a web request, for `createClient({ baseUrl: "http://localhost", fetch: api.fetch })`. */
  fetch(request: Request): Promise<Response>;
  /**
   * Calls a function with an event of another trigger.
   *
   * @param name The function's name, such as `SendReminders` for `schedule/send_reminders.ts`.
   * @param event The event, such as that of `createScheduleEvent`.
   * @returns Its result.
   */
  invoke(name: string, event: unknown): Promise<ReturnType<typeof JSON.parse>>;
  /**
   * Creates a user with a session, without a sign-up. The project needs a function of
   * `createAuthHandler`.
   *
   * @returns The user, for the option `as`.
   */
  createTestUser(options?: TestUserOptions): Promise<TestUser>;
  /**
   * Creates an API key with better-auth's plugin.
   *
   * @param user The owner; the user's organization with the plugin's `references: "organization"`.
   * @param options Options of the plugin's `createApiKey`, such as `permissions` and `expiresIn`.
   * @returns The key, for the option `as`.
   */
  createApiKey(
    user: Pick<TestUser, "id" | "organizationId">,
    options?: Readonly<Record<string, unknown>>,
  ): Promise<TestApiKey>;
  /**
   * Signs a JSON web token, whose issuer then publishes the test's key in this process.
   *
   * @param claims The claims, with `iss` and `aud`. `iat` and `exp` are added: one hour.
   * @param options `jwksUrl`, if the functions name the address of the keys.
   * @returns The token, for the option `as`.
   */
  createJwt(
    claims: Readonly<Record<string, unknown>> & { readonly iss: string },
    options?: { readonly jwksUrl?: string },
  ): Promise<TestJwt>;
  /** Returns the mails so far, oldest first. Mails are jobs: `runJobs` sends them. */
  mails(): readonly TestMail[];
  /**
   * Runs the jobs that are due, and those that they enqueue, with the project's relay and queue
   * functions.
   *
   * @returns All jobs after that, newest first.
   */
  runJobs(): Promise<JobDetails[]>;
  /** Connects to the WebSocket API. */
  connect(options?: TestSocketOptions): Promise<TestSocket>;
  /** Clock of the process and of the database. */
  readonly clock: TestClock;
  /** Client of the database, to read or write rows. */
  readonly db: DrizzleClient;
  /** Closes the database and discards its data. */
  close(): Promise<void>;
  /** Calls `close`: `await using api = await createTestClient();`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a client of all functions of a project, which are found as the command line finds them.
 * Nothing listens and nothing leaves the process: a request becomes the event of a REST API, and the
 * function that `trellis build` bundles answers it.
 *
 * The database is a new one in memory with the project's migrations, to which every configuration
 * of a database leads. Mails, messages to the queue of jobs and messages to WebSocket connections
 * are kept. Requests to other services of AWS are sent.
 *
 * An error that a function logs is printed with its stack.
 *
 * @param options Folder, migrations, environment.
 * @returns The client. Close it at the end of the test: one can be open at a time.
 * @throws {ConfigurationError} If the folder has no functions, or another test client is open.
 *
 * @example
 * ```ts
 * import { createTestClient } from "@trellis/fn/testing";
 *
 * const api = await createTestClient({ root: "examples/notes-node" });
 * const ada = await api.createTestUser({ name: "Ada" });
 * await api.post("/notes", { body: { title: "Milk" }, as: ada, expect: 201 });
 * const { body } = await api.get("/notes", { as: ada, expect: 200 });
 * console.log(body.notes.length, (await api.get("/notes")).status); // 1 401
 * await api.close();
 * ```
 */
export async function createTestClient<Routes extends ApiRoutes = ApiRoutes>(
  options: TestClientOptions = {},
): Promise<TestClient<Routes>> {
  const { openTestClient } = await import("./client/open_test_client.ts");
  return await openTestClient(options) as TestClient<Routes>;
}
