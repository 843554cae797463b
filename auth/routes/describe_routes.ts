import { convertSchema } from "../../validation/openapi/convert.ts";
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
  /** Name of the function of better-auth's API, unique among the routes: `revokeSession`. */
  readonly name?: string;
  /** The operation object of OpenAPI, with the inputs that the route requires. */
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
  const inputs = listInputs(library.api);
  const routes = library.routes.filter(({ path }) => !hidden.has(path));
  return {
    routes,
    described: Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([key, operation]): DescribedAuthRoute[] => {
        const method = key.toUpperCase();
        const template = path.replace(/\{(\w+)\}/g, ":$1");
        const isServed = routes.some((route) =>
          route.path === template && [method, "*"].includes(route.method)
        );
        if (!isServed) return [];
        const input = inputs.get(`${method} ${template}`);
        return [{
          method,
          path,
          ...input !== undefined && { name: input.name },
          operation: describeInputs(operation, input),
          needsSession: guarded.has(template),
        }];
      })
    ),
    schemas: components.schemas,
    sessionCookie: settings.sessionCookie,
  };
}

interface LibraryDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

type ZodSchema = Parameters<typeof convertSchema>[0];

/** A zod schema, as far as it says what is required. */
interface InputSchema extends ZodSchema {
  readonly _zod: ZodSchema["_zod"] & {
    readonly def: {
      readonly shape?: Readonly<Record<string, InputSchema>>;
      readonly innerType?: InputSchema;
      readonly options?: readonly InputSchema[];
    };
  };
}

/** The inputs of a route. */
interface RouteInput {
  readonly name: string;
  readonly query?: InputSchema;
  readonly body?: InputSchema;
}

interface InputEndpoint {
  readonly path?: string;
  readonly options?: Omit<RouteInput, "name"> & { readonly method?: string | readonly string[] };
}

/** Lists the inputs of better-auth's endpoints by method and path. */
function listInputs(api: object): Map<string, RouteInput> {
  const inputs = new Map<string, RouteInput>();
  for (const [name, { path, options }] of Object.entries(api as Record<string, InputEndpoint>)) {
    for (const [index, method] of [options?.method ?? []].flat().entries()) {
      const suffix = index === 0 ? "" : method[0] + method.slice(1).toLowerCase();
      inputs.set(`${method} ${path}`, { ...options, name: name + suffix });
    }
  }
  return inputs;
}

/**
 * Replaces the body and completes the parameters of an operation by what the schemas of the route take: better-auth's description
 * leaves out what is required and the formats, has `null` for optional fields, and no parameters of unions.
 */
function describeInputs(operation: Json, input: RouteInput | undefined): Json {
  if (input === undefined) return operation;
  const parameters = (operation.parameters ?? []) as Json[];
  const fields = Object.entries(getShape(input.query) ?? {});
  const missing = fields.filter(([name]) => !parameters.some((each) => each.name === name));
  return {
    ...operation,
    parameters: [
      ...parameters.map((each) => {
        const field = getShape(input.query)?.[String(each.name)];
        return each.in === "query" && isRequired(field) ? { ...each, required: true } : each;
      }),
      ...missing.map(([name, field]) => ({ name, in: "query", schema: describeInput(field) })),
    ],
    ...describeBody(operation, input.body),
  };
}

function describeBody({ requestBody }: Json, body: InputSchema | undefined): Json {
  if (requestBody === undefined || body?._zod === undefined) return { requestBody };
  const schema = describeInput(body);
  // a record takes any fields: better-auth describes those of the configuration
  const isKnown = ["properties", "anyOf"].some((key) => key in schema);
  return {
    requestBody: {
      ...requestBody as Json,
      ...isRequired(body) && { required: true },
      ...isKnown && { content: { "application/json": { schema } } },
    },
  };
}

function describeInput(schema: InputSchema): Json {
  return convertSchema(schema, { direction: "input", getName: () => undefined });
}

function isRequired(schema: InputSchema | undefined): boolean {
  return schema?._zod !== undefined && schema._zod.optin === undefined;
}

/** Returns the fields of an object, and those of all objects of a union. */
function getShape(
  schema: InputSchema | undefined,
): Readonly<Record<string, InputSchema>> | undefined {
  const def = schema?._zod?.def;
  if (def?.options !== undefined) return Object.assign({}, ...def.options.map(getShape));
  return def?.innerType === undefined ? def?.shape : getShape(def.innerType);
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
