import { AsyncLocalStorage } from "node:async_hooks";
import type { PGlite } from "@electric-sql/pglite";
import { createAuthClient } from "better-auth/client";
import type { BetterAuthClientPlugin } from "better-auth/client";
import type { DrizzleConfig } from "drizzle-orm";
import { drizzle } from "drizzle-orm/pglite";
import { createAuthHandler } from "../../../auth/routes/auth_handler.ts";
import type { AuthDatabase } from "../../../auth/better_auth/better_auth_types.ts";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { type BetterAuthInstance, createAuth } from "../../../auth/accounts/instance.ts";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import type { ReceivedResponse } from "../../support/described_response.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";
import { generateSchema } from "./generated_schema.ts";

/** Base URL of all instances. */
export const BASE_URL = "http://localhost:3000";

/** A database with the generated tables of all plugins. */
export interface PluginLab {
  readonly db: AuthDatabase;
  readonly authSchema: Record<string, unknown>;
  /** Runs SQL and returns the rows. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}

/** A lab that its test closes. */
export interface OpenPluginLab extends PluginLab {
  readonly pglite: PGlite;
}

/**
 * Opens an embedded database with the tables that `trellis generate auth-schema` writes.
 *
 * @param config The configuration that decides about the tables.
 * @param options Options of the client.
 */
export async function openPluginLab(
  config: Omit<AuthConfig, "secret" | "baseURL">,
  options: Omit<DrizzleConfig, "schema"> = {},
): Promise<OpenPluginLab> {
  const { pglite } = await openAuthDatabase();
  await pglite.exec("DROP TABLE users, sessions, accounts, verification");
  const { authSchema, statements } = await generateSchema(config);
  await pglite.exec(statements.join("\n"));
  return {
    pglite,
    db: drizzle({ client: pglite, ...options, schema: authSchema }),
    authSchema,
    query: async (sql) => (await pglite.query<Record<string, unknown>>(sql)).rows,
  };
}

/** The lab of the tests of a file. */
export interface SharedPluginLab {
  /** Opens the lab at the first call. */
  open(): Promise<OpenPluginLab>;
  /** Declares a test that gets the lab. */
  test(name: string, run: (lab: OpenPluginLab) => Promise<void>): void;
}

/** Opens a lab when a test of the file first asks for it, and closes it after the last test. */
export function sharePluginLab(...args: Parameters<typeof openPluginLab>): SharedPluginLab {
  // Deno starts a test in the asynchronous context in which the one before ended, so that better-auth
  // would continue its last request
  const startFresh = AsyncLocalStorage.snapshot();
  let opened: Promise<OpenPluginLab> | undefined;
  const open = () => opened ??= openPluginLab(...args);
  Deno.test.afterAll(async () => await (await opened)?.pglite.close());
  return {
    open,
    test: (name, run) =>
      Deno.test(name, async () => {
        const lab = await open();
        await startFresh(() => run(lab));
      }),
  };
}

/** A response with its parsed body. */
export interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
  readonly headers: Headers;
}

/** A response of a route, as it was received. */
export interface RecordedAnswer extends ReceivedResponse {
  readonly method: string;
  /** Path after the base path. */
  readonly path: string;
}

/** The responses that all browsers have received. */
export const ANSWERS: RecordedAnswer[] = [];

/** A browser: it keeps cookies and calls the Lambda function of the routes. */
export interface Browser {
  readonly auth: BetterAuthInstance;
  readonly cookies: Map<string, string>;
  /** Sends a request through `createAuthHandler`. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Sends JSON to a route. */
  post(path: string, body?: unknown, headers?: HeadersInit): Promise<Answer>;
  /** Gets a route. */
  get(path: string, headers?: HeadersInit): Promise<Answer>;
  /** Returns better-auth's official client with plugins. */
  client<P extends BetterAuthClientPlugin[]>(
    ...plugins: P
  ): ReturnType<typeof createAuthClient<{ plugins: P }>>;
  /** Signs up with an e-mail address and returns the user's id. */
  signUp(email: string): Promise<string>;
}

/** Password of all users. */
export const PASSWORD = "correct horse battery";

/** Opens a browser for an instance with the given options. */
export function openBrowser(
  lab: PluginLab,
  config: Partial<AuthConfig>,
  auth: BetterAuthInstance = createAuth(lab.db, {
    secret: SECRET,
    baseURL: BASE_URL,
    useSecureCookies: false,
    schema: lab.authSchema,
    emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
    ...config,
  }),
): Browser {
  const handler = createAuthHandler(() => auth);
  const cookies = new Map<string, string>();

  async function send(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const headers = Object.fromEntries(request.headers);
    if (cookies.size > 0 && headers.cookie === undefined) {
      headers.cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      headers.origin ??= BASE_URL;
    }
    const body = await request.text();
    const result = await handler(
      createHttpApiEvent({
        method: request.method,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers,
        body: body === "" ? undefined : body,
      }),
      createLambdaContext(),
    );
    for (const line of result.cookies ?? []) keepCookie(cookies, line);
    const answer = new Headers();
    for (const [name, value] of Object.entries(result.headers ?? {})) {
      answer.set(name, String(value));
    }
    for (const line of result.cookies ?? []) answer.append("set-cookie", line);
    ANSWERS.push({
      method: request.method,
      path: url.pathname.replace("/api/auth", ""),
      status: result.statusCode,
      headers: answer,
      body: result.body ?? "",
    });
    const hasBody = ![204, 304].includes(result.statusCode);
    return new Response(hasBody ? result.body : null, {
      status: result.statusCode,
      headers: answer,
    });
  }

  async function read(response: Response): Promise<Answer> {
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return {
      status: response.status,
      body: isJson && text !== "" ? JSON.parse(text) : text,
      headers: response.headers,
    };
  }

  const toUrl = (path: string) => path.startsWith("http") ? path : `${BASE_URL}/api/auth${path}`;
  return {
    auth,
    cookies,
    fetch: send,
    post: async (path, body = {}, headers = {}) =>
      await read(
        await send(toUrl(path), {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        }),
      ),
    get: async (path, headers = {}) => await read(await send(toUrl(path), { headers })),
    client: (...plugins) =>
      createAuthClient({
        baseURL: BASE_URL,
        plugins,
        fetchOptions: { customFetchImpl: (input, init) => send(input as string, init) },
        // deno-lint-ignore no-explicit-any
      }) as any,
    async signUp(email: string): Promise<string> {
      const { status, body } = await this.post("/sign-up/email", {
        name: email.split("@")[0],
        email,
        password: PASSWORD,
      });
      if (status !== 200 || !body.user) {
        throw new Error(`sign-up: ${status} ${JSON.stringify(body)}`);
      }
      return body.user.id;
    },
  };
}

function keepCookie(cookies: Map<string, string>, line: string): void {
  const [pair, ...attributes] = line.split(";");
  const at = pair.indexOf("=");
  const name = pair.slice(0, at);
  const isGone = attributes.some((each) => /^\s*max-age=0$/i.test(each));
  if (isGone) cookies.delete(name);
  else cookies.set(name, pair.slice(at + 1));
}

let last = 0;

/** Returns an address that no other flow uses. */
export function newEmail(name = "user"): string {
  return `${name}-${++last}-${Date.now().toString(36)}@example.com`;
}
