// Runs in the workers of vitest, under Node, beside a copy of the library's sources in `trellis`.
import { betterAuth } from "better-auth";
import * as pgCore from "drizzle-orm/pg-core";
import { getClientAddressHeader } from "../../auth/better_auth/client_address_header.ts";
import type { AuthConfig } from "../../auth/config/config.ts";
import { createAuth, getInternals } from "../../auth/accounts/instance.ts";
import * as builtIn from "../../auth/tables/schema.ts";
import { describeAuthTables } from "../../cli/auth_schema/auth_table.ts";
import { renderFile } from "../../cli/auth_schema/plan_auth_schema.ts";
import { listCreateStatements } from "../../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../../cli/schema_migration/declared_objects.ts";
import { openTarget } from "./targets.ts";

/** The options of a test of better-auth. */
// deno-lint-ignore no-explicit-any -- better-auth's tests also pass options that its types refuse
type Given = any;

/** What better-auth's tests read of an instance. */
export interface SuiteInstance {
  readonly api: object;
  readonly options: object;
  readonly $context: Promise<unknown>;
  handler(request: Request): Promise<Response>;
  /** Closes the database of the instance. */
  close?(): Promise<void>;
}

const SECRET = "better-auth-secret-that-is-long-enough-for-validation-test";

/**
 * Starts an instance of `createAuth` with the options of a test, on a separate database.
 *
 * @param given The options. Where Trellis has another default on purpose, better-auth's is set.
 */
export async function openInstance(given: Given): Promise<SuiteInstance> {
  // a test that brings its own database
  if (given.database?.isSuite !== true) return betterAuth(given) as never;
  const config = toConfig(given);
  const tables = await describeAuthTables(config);
  const schema = loadSchema(renderFile(tables));
  const statements = listCreateStatements(findDeclaredObjects(Object.values(schema)))
    .map((statement) => `${statement};`);
  const { db, close } = await openTarget(statements, schema);
  try {
    const auth = createAuth(db, { ...config, schema });
    const { api, context } = await getInternals(auth).start();
    return {
      api,
      options: context.options,
      $context: Promise.resolve(context),
      handler: (request) => auth.handler(passAddress(request)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function toConfig(given: Given): AuthConfig {
  const { database: _, secret, baseURL, advanced, socialProviders = {}, ...rest } = given;
  const url = typeof baseURL === "string" && baseURL.startsWith("http") ? baseURL : undefined;
  return {
    ...rest,
    secret: typeof secret === "string" && secret !== "" ? secret : SECRET,
    baseURL: baseURL === undefined ? "http://localhost:3000" : url ?? baseURL,
    socialProviders: () => toProviders(socialProviders),
    session: { expiresIn: 604_800, ...rest.session },
    advanced: {
      // better-auth checks no origins in tests
      disableOriginCheck: undefined,
      useSecureCookies: url?.startsWith("https") === true,
      ...advanced,
    },
  };
}

/** Converts providers: options besides the credentials are under `options`, functions are called. */
async function toProviders(given: Record<string, Given>): Promise<Record<string, Given>> {
  const entries = Object.entries(given).map(async ([id, provider]) => {
    const { clientId, clientSecret, enabled, appBundleIdentifier, ...options } =
      typeof provider === "function" ? await provider() : provider;
    return [id, { clientId, clientSecret, enabled, appBundleIdentifier, options }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Evaluates what `generate auth-schema` writes. */
function loadSchema(code: string): Record<string, unknown> {
  const names: Record<string, unknown> = { ...pgCore, ...builtIn };
  const script = code.replace(/import[^;]*;\n/g, "").replaceAll("export const", "const")
    .replace(/\.\$type<[^>]*>\(\)/g, "");
  return new Function(...Object.keys(names), `${script}\nreturn authSchema;`)(
    ...Object.values(names),
  );
}

/** Passes the client's address as `createAuthHandler` does. */
function passAddress(request: Request): Request {
  const address = request.headers.get("x-forwarded-for");
  if (address !== null) request.headers.set(getClientAddressHeader(), address);
  return request;
}
