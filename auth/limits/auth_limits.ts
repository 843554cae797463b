import type { BetterAuthPlugin } from "better-auth";
import type { PgTable } from "drizzle-orm/pg-core";
import { isTable } from "../../database/session/drizzle_table.ts";
import {
  checkRateLimitTable,
  createRateLimitStore,
  type RateLimitDatabase,
} from "../../database/rate_limits/store.ts";
import { matchesPath } from "../better_auth/auth_routes.ts";
import { createAccountLimits } from "./account_limits.ts";
import type { AuthDatabase, BetterAuthOptions } from "../better_auth/better_auth_types.ts";
import type { AuthSettings } from "../config/config.ts";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";
import type { RateLimitStore } from "../../core/rate_limit/rate_limit.ts";
import { refuseRequest } from "../../core/rate_limit/count_request.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";

/** The limits of an instance, as better-auth takes them. */
export interface AuthLimits {
  readonly rateLimit: BetterAuthOptions["rateLimit"];
  readonly plugins: readonly BetterAuthPlugin[];
  /** Sets the endpoints of the started instance, whose paths are counted. */
  setUp(api: object): void;
  /** Throws if the table of the limits cannot be used. */
  check(): Promise<void>;
}

/**
 * Creates the limits that count in the database.
 *
 * @param db The database client.
 * @param settings The checked configuration.
 * @param table The table of better-auth's model `rateLimit`.
 * @param library The loaded library.
 * @returns The limits; `undefined` if nothing is counted in the database.
 */
export function createAuthLimits(
  db: AuthDatabase,
  settings: AuthSettings,
  table: unknown,
  { createAuthMiddleware }: BetterAuthLibrary,
): AuthLimits | undefined {
  const { usesDatabase, account } = settings.rateLimits;
  if (!usesDatabase || !isTable(table)) return undefined;
  const client = db as RateLimitDatabase & AuthDatabase;
  const store = createRateLimitStore(client, table as PgTable);
  let patterns: readonly string[] = [];
  return {
    rateLimit: {
      customStorage: createRouteStorage(
        store,
        (path) => patterns.find((pattern) => matchesPath(pattern, path)),
      ),
    },
    plugins: account === undefined
      ? []
      : [createAccountLimits({ db, settings, limits: account, store, createAuthMiddleware })],
    setUp(api) {
      const paths = Object.values(api as Record<string, { path?: string }>).map(({ path }) => path);
      // fixed paths first: /delete-user/callback before /delete-user/:id
      patterns = paths.filter((path) => path !== undefined)
        .sort((a, b) => Number(a.includes(":")) - Number(b.includes(":")));
    },
    check: () => checkRateLimitTable(client, table as PgTable, "trellis generate auth-schema"),
  };
}

type LibraryStorage = NonNullable<NonNullable<LibraryOptions["rateLimit"]>["customStorage"]>;

/**
 * Creates the storage for better-auth's limits by address and path. The rules of paths, of plugins
 * and of `rateLimit.customRules` stay better-auth's. A refused request is answered with 429 and the
 * headers of the limit.
 *
 * @param store The store.
 * @param findPattern Returns the pattern of a path, such as `/reset-password/:token`, so that an attacker cannot fill
 * the table with a row for each path; `undefined` for an unknown path.
 */
function createRouteStorage(
  store: RateLimitStore,
  findPattern: (path: string) => string | undefined,
): LibraryStorage {
  return {
    async consume(key, { max, window }) {
      // better-auth's key is `<address>|<path>`
      const at = key.indexOf("|");
      const path = findPattern(key.slice(at + 1)) ?? "unknown";
      const rule = { limit: Math.floor(max), windowSeconds: window };
      const decision = await store.take(`route|${path}|${key.slice(0, at)}`, rule);
      if (!decision.allowed) throw refuseRequest("address", rule, decision);
      return { allowed: true, retryAfter: null };
    },
  };
}
