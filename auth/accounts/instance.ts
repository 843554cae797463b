import { loadOnce } from "../../core/async/single_flight.ts";
import { findSession } from "../../database/session/statement_session.ts";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import { logError } from "../../observability/logger.ts";
import type { StartedBetterAuth } from "./better_auth.ts";
import type {
  AuthDatabase,
  BetterAuthApi,
  BetterAuthOptions,
} from "../better_auth/better_auth_types.ts";
import type { AuthConfig, AuthSettings } from "../config/config.ts";
import { resolveAuthConfig } from "../config/resolve_config.ts";
import { identifyConfig } from "../config/identify_config.ts";
import { toBetterAuthOptions } from "./better_auth_options.ts";

/**
 * An auth instance. better-auth is loaded on the first use of `api` or `handler`. Session checks do
 * not load it.
 */
export interface BetterAuthInstance {
  /**
   * better-auth's endpoints as functions. Each returns a promise and rejects with better-auth's
   * `APIError`.
   */
  readonly api: BetterAuthApi;
  /** better-auth's routes as a function from web request to web response. */
  readonly handler: (request: Request) => Promise<Response>;
  /**
   * better-auth's options without `database` and `plugins`, which are added on load. They contain
   * the secret.
   */
  readonly options: BetterAuthOptions;
}

/** Internal parts of an instance. */
export interface AuthInternals {
  /** Database client. */
  readonly db: AuthDatabase;
  /** Validated configuration. */
  readonly settings: AuthSettings;
  /** Loads better-auth once. A failed load is repeated by the next caller. */
  readonly start: () => Promise<StartedBetterAuth>;
}

const internals: WeakMap<BetterAuthInstance, AuthInternals> = new WeakMap();

/** A configuration, and its instance for each client. */
export interface KnownConfig {
  readonly settings: AuthSettings;
  readonly instances: WeakMap<AuthDatabase, BetterAuthInstance>;
}

/** An instance, and the key of its configuration once that was compared with another one. */
interface KnownInstance {
  readonly auth: BetterAuthInstance;
  identity?: string;
}

let configs: WeakMap<AuthConfig, KnownConfig> = new WeakMap();
let instances: WeakMap<AuthDatabase, KnownInstance[]> = new WeakMap();

/**
 * Returns the auth instance for a database client and a configuration. Repeated calls return the
 * same instance. It loads nothing and sends no query.
 *
 * @param db The drizzle client.
 * @param config The configuration. Equal configurations share an instance.
 * @returns The instance.
 * @throws {ConfigurationError} If the configuration is invalid. Nothing is cached then.
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
  if (typeof db !== "object" || db === null || !isClient(db)) {
    throw new ConfigurationError(
      "createAuth(db, config) needs a drizzle client: await getDrizzleClient(...) first",
    );
  }
  const known = resolveOnce(config);
  let auth = known.instances.get(db);
  if (auth === undefined) {
    known.instances.set(db, auth = findOrMakeInstance(db, known.settings, config));
  }
  return auth;
}

/**
 * Validates a configuration, once for each object.
 *
 * @throws {ConfigurationError} If the configuration is invalid. Nothing is cached then.
 */
export function resolveOnce(config: AuthConfig): KnownConfig {
  let known = configs.get(config);
  if (known === undefined) {
    known = { settings: resolveAuthConfig(config), instances: new WeakMap() };
    configs.set(config, known);
  }
  return known;
}

function findOrMakeInstance(
  db: AuthDatabase,
  settings: AuthSettings,
  config: AuthConfig,
): BetterAuthInstance {
  const ofClient = instances.get(db);
  if (ofClient === undefined) {
    const auth = makeInstance(db, settings, config);
    instances.set(db, [{ auth }]);
    return auth;
  }
  const identity = identifyConfig(settings);
  for (const known of ofClient) {
    known.identity ??= identifyConfig(getInternals(known.auth).settings);
    if (known.identity === identity) return known.auth;
  }
  const auth = makeInstance(db, settings, config);
  ofClient.push({ auth, identity });
  return auth;
}

/**
 * Returns the auth instance for a database that is connected on demand.
 *
 * @param getDb Returns the client, such as `() => getDrizzleClient(config)`. It is called each
 * time, so that a replaced client is used. It should cache.
 * @param config As for {@link createAuth}.
 * @returns The instance, the same one for the same client.
 * @throws {ConfigurationError} If the configuration is invalid. Errors of `getDb` are passed on and
 * not cached.
 */
export async function getAuth(
  getDb: () => Promise<AuthDatabase>,
  config: AuthConfig,
): Promise<BetterAuthInstance> {
  return createAuth(await getDb(), config);
}

/**
 * Clears all instances, so that {@link createAuth} and {@link getAuth} create new ones. For tests.
 */
export function resetAuth(): void {
  instances = new WeakMap();
  configs = new WeakMap();
}

/**
 * Returns the internal parts of an instance.
 *
 * @param auth An instance of {@link createAuth}.
 * @returns Client, settings and loader.
 * @throws {ConfigurationError} If the value was not created by {@link createAuth}.
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

function isClient(db: AuthDatabase): boolean {
  return findSession(db) !== undefined || typeof db.select === "function";
}

function makeInstance(
  db: AuthDatabase,
  settings: AuthSettings,
  config: AuthConfig,
): BetterAuthInstance {
  let options: BetterAuthOptions | undefined;
  async function load(): Promise<StartedBetterAuth> {
    const { startBetterAuth } = await import("./better_auth.ts");
    return await startBetterAuth(db, config, settings, auth.options);
  }

  const start = loadOnce(() => runOutsideInvocation(load));

  async function handler(request: Request): Promise<Response> {
    try {
      return await (await start()).handler(request);
    } catch (error) {
      if (isAppError(error, "TOO_MANY_REQUESTS")) {
        const { message, code, statusCode, headers } = error;
        return Response.json({ message, code }, { status: statusCode, headers });
      }
      logError("The auth routes failed", { error });
      return Response.json({ message: "Internal Server Error", code: "UNEXPECTED" }, {
        status: 500,
      });
    }
  }

  const auth: BetterAuthInstance = {
    api: lazyApi(start),
    handler,
    // session checks do not need them
    get options() {
      return options ??= toBetterAuthOptions(settings);
    },
  };
  // not enumerable, so that printing or serializing an instance does not show the secret
  Object.defineProperty(auth, "options", { enumerable: false });
  internals.set(auth, { db, settings, start });
  return auth;
}

type Endpoint = (...inputs: unknown[]) => Promise<unknown>;

/** Creates the endpoints. A `Proxy`, because better-auth is not loaded, and only it knows their names. */
function lazyApi(start: () => Promise<StartedBetterAuth>): BetterAuthApi {
  return new Proxy({}, {
    get(target, name): unknown {
      // properties that the language reads: `await` reads `then`, JSON.stringify reads `toJSON`
      if (typeof name !== "string" || name === "then" || name === "toJSON" || name in target) {
        return Reflect.get(target, name);
      }
      return async function callEndpoint(...inputs: unknown[]): Promise<unknown> {
        const endpoint = ((await start()).api as Record<string, Endpoint | undefined>)[name];
        if (endpoint === undefined) throw new TypeError(`better-auth has no endpoint "${name}"`);
        return await endpoint(...inputs);
      };
    },
  }) as BetterAuthApi;
}
