import { ConfigurationError } from "../errors/http_errors.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { logError } from "../observability/logger.ts";
import type { StartedBetterAuth } from "./better_auth.ts";
import type { AuthDatabase, BetterAuthApi, BetterAuthOptions } from "./better_auth_types.ts";
import { type AuthConfig, type AuthSettings, resolveAuthConfig } from "./config.ts";
import { identifyConfig } from "./identify_config.ts";
import { toBetterAuthOptions } from "./better_auth_options.ts";

/**
 * The auth instance. The library behind it is loaded when `api` or `handler` is first used; checking a session does not
 * need it.
 */
export interface BetterAuthInstance {
  /** The library's endpoints as functions. Each returns a promise, and throws better-auth's `APIError`. */
  readonly api: BetterAuthApi;
  /** The library's routes: a web request in, a web response out. */
  readonly handler: (request: Request) => Promise<Response>;
  /** The library's options, without `database` and `plugins`, which are added when it is loaded. They hold the secret. */
  readonly options: BetterAuthOptions;
}

/** What an instance stands on. */
export interface AuthInternals {
  /** The client that sessions are read with. */
  readonly db: AuthDatabase;
  /** The checked configuration. */
  readonly settings: AuthSettings;
  /** Loads the library, once; a failed load is tried again by the next caller. */
  readonly start: () => Promise<StartedBetterAuth>;
}

const internals: WeakMap<BetterAuthInstance, AuthInternals> = new WeakMap();
let settingsByConfig: WeakMap<AuthConfig, { settings: AuthSettings; identity: string }> =
  new WeakMap();
let instances: WeakMap<AuthDatabase, Map<string, BetterAuthInstance>> = new WeakMap();

/**
 * The auth instance for a database client and a configuration: made on the first call, the same one afterwards.
 * Cheap: nothing is loaded and no query is sent.
 *
 * @param db The drizzle client.
 * @param config Equal configurations give the same instance, different ones different instances.
 * @returns The instance.
 * @throws {ConfigurationError} When the configuration does not make sense; nothing is cached then.
 *
 * @example
 * ```ts
 * import { createAuth } from "@trellis/fn/auth";
 * import { closeDrizzleClient, getDrizzleClient } from "@trellis/fn/database";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * const secret = "at-least-32-random-characters-0123456789";
 * const auth = createAuth(db, { secret, baseURL: "https://api.example.com" });
 * console.log(await auth.api.ok()); // { ok: true }
 * await closeDrizzleClient();
 * ```
 */
export function createAuth(db: AuthDatabase, config: AuthConfig): BetterAuthInstance {
  if (typeof db !== "object" || db === null || typeof db.select !== "function") {
    throw new ConfigurationError(
      "createAuth(db, config) needs a drizzle client: await getDrizzleClient(...) first",
    );
  }
  let known = settingsByConfig.get(config);
  if (known === undefined) {
    const settings = resolveAuthConfig(config);
    settingsByConfig.set(config, known = { settings, identity: identifyConfig(settings) });
  }
  let ofClient = instances.get(db);
  if (ofClient === undefined) instances.set(db, ofClient = new Map());
  let auth = ofClient.get(known.identity);
  if (auth === undefined) ofClient.set(known.identity, auth = makeInstance(db, known.settings));
  return auth;
}

/**
 * The auth instance for a database that is connected on demand.
 *
 * @param getDb Gives the client, such as `() => getDrizzleClient(config)`. It is asked each time, so that a client that was
 * closed and made again is followed; it should cache.
 * @param config As for {@link createAuth}.
 * @returns The instance: the same one as long as the client is the same.
 * @throws {ConfigurationError} When the configuration does not make sense. What `getDb` throws is passed on, and the next
 * call tries again.
 */
export async function getAuth(
  getDb: () => Promise<AuthDatabase>,
  config: AuthConfig,
): Promise<BetterAuthInstance> {
  return createAuth(await getDb(), config);
}

/** Forgets all instances, so that the next {@link createAuth} or {@link getAuth} makes a fresh one. For tests. */
export function resetAuth(): void {
  instances = new WeakMap();
  settingsByConfig = new WeakMap();
}

/**
 * What an instance stands on.
 *
 * @param auth An instance of {@link createAuth}.
 * @returns Its client and settings.
 * @throws {ConfigurationError} When the value was not made by {@link createAuth}.
 */
export function getInternals(auth: BetterAuthInstance): AuthInternals {
  const found = internals.get(auth);
  if (found === undefined) {
    throw new ConfigurationError(
      "This is no auth instance of @trellis/fn: make it with createAuth(db, config)",
    );
  }
  return found;
}

function makeInstance(db: AuthDatabase, settings: AuthSettings): BetterAuthInstance {
  const options = toBetterAuthOptions(settings);
  let loading: Promise<StartedBetterAuth> | undefined;

  async function load(): Promise<StartedBetterAuth> {
    const { startBetterAuth } = await import("./better_auth.ts");
    return await startBetterAuth(db, settings, options);
  }

  function start(): Promise<StartedBetterAuth> {
    return loading ??= runOutsideInvocation(load).catch((error) => {
      loading = undefined;
      throw error;
    });
  }

  async function handler(request: Request): Promise<Response> {
    try {
      return await (await start()).handler(request);
    } catch (error) {
      logError("The auth routes failed", { error });
      return Response.json({ message: "Internal Server Error", code: "UNEXPECTED" }, {
        status: 500,
      });
    }
  }

  const auth: BetterAuthInstance = { api: lazyApi(start), handler, options };
  // not enumerable: printing or serializing an instance must not show the secret
  Object.defineProperty(auth, "options", { enumerable: false });
  internals.set(auth, { db, settings, start });
  return auth;
}

type Endpoint = (...inputs: unknown[]) => Promise<unknown>;

function lazyApi(start: () => Promise<StartedBetterAuth>): BetterAuthApi {
  return new Proxy({}, {
    get(target, name): unknown {
      // what the language itself asks objects for: await looks for `then`, JSON.stringify for `toJSON`
      if (typeof name !== "string" || name === "then" || name === "toJSON" || name in target) {
        return Reflect.get(target, name);
      }
      return async function callEndpoint(...inputs: unknown[]): Promise<unknown> {
        const endpoint =
          ((await start()).api as unknown as Record<string, Endpoint | undefined>)[name];
        if (endpoint === undefined) throw new TypeError(`better-auth has no endpoint "${name}"`);
        return await endpoint(...inputs);
      };
    },
  }) as BetterAuthApi;
}
