import type { AuthRoute } from "../better_auth/auth_routes.ts";
import { startBetterAuth } from "../accounts/better_auth.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { createSessionClient } from "../../database/session/client.ts";
import { ConnectionSlots } from "../../database/session/connection_slots.ts";
import { withSavepoints } from "../../database/session/driver.ts";
import { toBetterAuthOptions } from "../accounts/better_auth_options.ts";
import type { AuthConfig } from "../config/config.ts";
import { resolveAuthConfig } from "../config/resolve_config.ts";
import { loadRouteDescriptions } from "../better_auth/load_better_auth.ts";
import { listPlugins } from "../accounts/plugins.ts";

type Json = Readonly<Record<string, unknown>>;

/** A route with better-auth's own description. */
export interface DescribedAuthRoute {
  /** Method in upper case. */
  readonly method: string;
  /** Path after the base path: `/reset-password/{token}`. */
  readonly path: string;
  /** The operation object of OpenAPI. */
  readonly operation: Json;
  /** True if the route refuses requests without a session. */
  readonly needsSession: boolean;
}

/** The routes of a configuration. */
export interface DescribedAuthRoutes {
  /** All routes that the configuration serves. */
  readonly routes: readonly AuthRoute[];
  /** The routes that better-auth describes. */
  readonly described: readonly DescribedAuthRoute[];
  /** The schemas that the operations refer to, by name. */
  readonly schemas: Readonly<Record<string, Json>>;
  /** Name of the session cookie in deployments. */
  readonly sessionCookie: string;
}

/** Values that the description does not depend on, so that it is the same in every environment. */
const FIXED = {
  baseURL: "http://localhost:3000",
  secret: "only for descriptions, never for sessions",
  useSecureCookies: true,
} as const;

/** A database without rows: some plugins read their tables when they start. */
function createEmptyDatabase(): DrizzleClient {
  const run = () => Promise.resolve({ columns: [], rows: [], command: "", rowCount: 0 });
  const driver = withSavepoints({ run });
  return createSessionClient(
    { client: undefined, run, transaction: (work) => work(driver) },
    new ConnectionSlots(1),
    { schema: undefined },
  );
}

/**
 * Describes the routes that better-auth serves for the options and plugins of a configuration, with
 * its own OpenAPI plugin. Needs no database and no secret.
 *
 * @param config The configuration; `secret`, `baseURL` and `useSecureCookies` are not read.
 * @returns The routes.
 * @throws {ConfigurationError} If the configuration is invalid, or better-auth is not installed.
 */
export async function describeAuthRoutes(config: AuthConfig): Promise<DescribedAuthRoutes> {
  const { openAPI, sessionMiddlewares } = await loadRouteDescriptions();
  const { advanced: { useSecureCookies: _, ...advanced } = {}, ...rest } = config;
  const settings = resolveAuthConfig({ ...rest, advanced, ...FIXED });
  const plugins = await listPlugins(settings.plugins);
  const own = plugins.some(({ id }) => id === "open-api") ? [] : [openAPI()];
  const hidden = new Set(
    own.flatMap(({ endpoints }) => Object.values(endpoints).map(({ path }) => path as string)),
  );
  const library = await startBetterAuth(createEmptyDatabase(), config, {
    ...settings,
    experimentalJoins: false,
    // they have no routes, and some would be asked for their configuration
    providers: typeof settings.providers === "function"
      ? { social: {}, custom: [] }
      : { ...settings.providers, custom: [] },
    plugins: [...plugins, ...own],
  }, { ...toBetterAuthOptions(settings), logger: { disabled: true } });
  const { generateOpenAPISchema } = library.api as typeof library.api & {
    generateOpenAPISchema(): Promise<LibraryDocument>;
  };
  const { paths, components } = await generateOpenAPISchema();
  const guarded = listGuardedPaths(library.api, sessionMiddlewares);
  return {
    routes: library.routes.filter(({ path }) => !hidden.has(path)),
    described: Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): DescribedAuthRoute => ({
        method: method.toUpperCase(),
        path,
        operation,
        needsSession: guarded.has(path.replace(/\{(\w+)\}/g, ":$1")),
      }))
    ).filter(({ path }) => !hidden.has(path)),
    schemas: components.schemas,
    sessionCookie: settings.sessionCookie,
  };
}

interface LibraryDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

interface Middleware {
  readonly options?: { readonly use?: readonly Middleware[] };
}

/** Lists the paths of endpoints that use a middleware which requires a session. */
function listGuardedPaths(api: object, guards: ReadonlySet<unknown>): ReadonlySet<string> {
  const isGuarded = ({ options }: Middleware): boolean =>
    (options?.use ?? []).some((each) => guards.has(each) || isGuarded(each));
  const endpoints = Object.values(api) as (Middleware & { readonly path?: string })[];
  return new Set(endpoints.filter(isGuarded).map(({ path }) => path ?? ""));
}
