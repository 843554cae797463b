import type { JobNeed } from "../grants/job_needs.ts";
import type { TableName } from "../grants/table_name.ts";
import type { DatabaseClients } from "./database_clients.ts";
import type { EnvironmentVariable } from "./variable_reads.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import type { CorsOption } from "../../core/http/cors.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { Expression, HclValue } from "./hcl.ts";

/** Handler options that affect the infrastructure. */
export interface HandlerOptions {
  readonly timeout?: number;
  readonly memorySize?: number;
  readonly reservedConcurrency?: number;
  readonly ephemeralStorage?: number;
  readonly deadLetterQueue?: boolean | { readonly targetArn?: string };
  readonly retryAttempts?: number;
  /** `defineKafkaHandler`: whether it reports the failed record of each partition. */
  readonly partialFailures?: boolean;
  /** `defineApiHandler`, `defineWebSocketHandler`: the auth mode. */
  readonly auth?: string;
  /** `defineApiHandler`: the allowed origins, or `false` for none. */
  readonly cors?: CorsOption;
  /** `defineApiHandler`: true if the response is sent in parts. */
  readonly streaming?: true;
  /** `defineApiHandler`: true if it sends parts of its bytes. */
  readonly ranges?: boolean;
}

/** The parts of the request that an authorizer reads. */
export interface AuthorizerInputs {
  readonly reads: readonly { readonly source: string; readonly place: string }[];
  /** Source locations that cannot be resolved: `src/authorizer.ts:12`. */
  readonly unresolved: readonly string[];
}

/** A function as described by its sources and the configuration. */
export interface InfraFunction extends FunctionFile {
  /** Relative to the project. */
  readonly source: string;
  /** The line of the handler. */
  readonly line: number;
  /** Terraform name: `notes_get`. */
  readonly id: string;
  /** The function of this package that creates the handler. */
  readonly definer?: string;
  readonly options: HandlerOptions;
  readonly settings: FunctionInfra;
  readonly variables: readonly EnvironmentVariable[];
  readonly usesDatabase: boolean;
  /** The tables that its queries and sessions use. */
  readonly tables: readonly TableName[];
  /** Configurations of database clients in the sources of all functions. */
  readonly database?: DatabaseClients;
  /** True if the handler takes files in its body, which API Gateway must then pass on as base64. */
  readonly takesFiles: boolean;
  /** The headers of API keys, besides the default, if handlers take API keys. */
  readonly apiKeyHeaders?: readonly string[];
  /** Uses of the table of jobs. */
  readonly jobs: ReadonlySet<JobNeed>;
  /** True if the function sends mails through Amazon SES. */
  readonly sendsBySes: boolean;
  /** `defineRouter`: an entry for each route, with the options of its handler. */
  readonly routes?: readonly InfraFunction[];
  /** A route of a router: the Terraform name of the function. */
  readonly owner?: string;
  /** True if the function calls `loadSources`, so that its variables may have sources. */
  readonly loadsSources: boolean;
  /** Only for functions in `authorizer/`. */
  readonly inputs?: AuthorizerInputs;
}

/** Returns the functions with the routes of routers in place of these. */
export function listRoutes(functions: readonly InfraFunction[]): readonly InfraFunction[] {
  return functions.flatMap((fn) => fn.routes ?? [fn]);
}

/** Returns routes with a HEAD route after each GET route whose path has no route for HEAD. */
export function addHeadRoutes(routes: readonly InfraFunction[]): readonly InfraFunction[] {
  const others = routes.filter(({ method }) => method === "HEAD" || method === "ANY");
  const answered = new Set(others.map(({ path }) => path));
  return routes.flatMap((fn) => {
    if (fn.method !== "GET" || answered.has(fn.path)) return [fn];
    // no Terraform name of a function has two underscores in a row
    const { id, owner = id } = fn;
    return [fn, { ...fn, method: "HEAD", id: `${id}__head`, owner }];
  });
}

/** Lists the headers of API keys of functions, besides the default. */
export function listApiKeyHeaders(functions: readonly InfraFunction[]): string[] {
  return [...new Set(functions.flatMap(({ apiKeyHeaders = [] }) => apiKeyHeaders))].sort();
}

/** Returns true for auth modes that use the authorizer of API Gateway. */
export function usesAuthorizer({ options }: InfraFunction): boolean {
  return options.auth === "authorizer" || options.auth === "authorizer-optional";
}

/**
 * Lists the paths whose functions receive OPTIONS requests by their own routes. A route for any method
 * that needs credentials refuses preflight requests, which have none.
 *
 * @param routes The functions in `api/`.
 * @param requiresKey True if requests need a key of the usage plan.
 */
export function listAnsweredPaths(
  routes: readonly InfraFunction[],
  requiresKey = false,
): ReadonlySet<string | undefined> {
  const isOpen = (fn: InfraFunction) =>
    !requiresKey && !usesAuthorizer(fn) && fn.options.auth !== "gateway-jwt";
  const answered = routes.filter((fn) =>
    fn.method === "OPTIONS" || fn.method === "ANY" && isOpen(fn)
  );
  return new Set(answered.map(({ path }) => path));
}

/** The environment of a function. */
export interface FunctionEnvironment {
  /** Values by variable name. */
  readonly values: Readonly<Record<string, HclValue>>;
  /** Policies that the values require, by name. */
  readonly policies: Readonly<Record<string, Expression>>;
  /** True if the function connects to the cluster. */
  readonly usesCluster: boolean;
  /** True if the function must run in the network of its database. */
  readonly isInNetwork: boolean;
}

/** A variable of the generated Terraform. */
export interface TerraformVariable {
  readonly name: string;
  readonly description: string;
  readonly type: "string" | "bool" | "list(string)";
  readonly default?: HclValue;
  readonly isSensitive?: boolean;
  /** True if null means that there is no value. */
  readonly isNullable?: boolean;
}

/** Creates a variable with a text. */
export function createTextVariable(name: string, description: string): TerraformVariable {
  return { name, description, type: "string" };
}

/** Creates a variable with a text, or null for none. */
export function createNullableVariable(name: string, description: string): TerraformVariable {
  return { name, description, type: "string", default: null, isNullable: true };
}

/** An error or warning about a function or the configuration. */
export interface Problem {
  readonly message: string;
  readonly functionName?: string;
}

/** The authorizer of the API. */
export interface AuthorizerPlan {
  /** The authorizer function. */
  readonly fn: InfraFunction;
  /** True if requests without credentials reach it. */
  readonly admitsAnonymous: boolean;
}
