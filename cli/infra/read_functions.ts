import { FUNCTION_RULES } from "../../core/function_options.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionKind } from "../discovery/function_kinds.ts";
import type { PermissionFacts } from "../grants/read_permissions.ts";
import { type Finding, Findings } from "../project/findings.ts";
import { type FunctionFacts, loadFunctions } from "../project/load_functions.ts";
import { getModuleUrl } from "../project/module_url.ts";
import { snakeCase } from "../discovery/snake_case.ts";
import { getChangeTrigger } from "./change_consumers.ts";
import { joinDatabaseClients } from "./database_clients.ts";
import { addExportedResources } from "./function_settings.ts";
import type { HandlerOptions, InfraFunction } from "./infra_plan.ts";
import type { HandlerFacts, InfraFacts, RouteFacts } from "./read_infra.ts";

/** The functions with errors and warnings about their sources. */
export interface FunctionSources {
  readonly functions: readonly InfraFunction[];
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** Options of {@link readFunctions}. */
export interface ReadFunctionsOptions {
  /** Absolute path of the project. */
  readonly root: string;
  readonly files: readonly FunctionFile[];
  /** The setting `infra.functions`. */
  readonly settings: Readonly<Record<string, FunctionInfra>>;
  /** Called with the number of finished functions. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Functions of this package by the folder in which their handlers belong. */
export const DEFINERS: Readonly<Record<FunctionKind, readonly string[]>> = {
  api: ["defineApiHandler", "createAuthHandler", "defineRouter"],
  queue: ["defineQueueHandler", "defineJobQueueHandler"],
  topic: ["defineTopicHandler", "defineMailEventHandler"],
  event: ["defineEventHandler", "defineMailEventHandler"],
  schedule: ["defineScheduleHandler", "defineJobRelayHandler", "createAuthCleanupHandler"],
  storage: ["defineStorageHandler", "defineUploadHandler"],
  stream: ["defineStreamHandler", "defineChangeStreamHandler"],
  "table-stream": ["defineTableStreamHandler"],
  kafka: ["defineKafkaHandler"],
  websocket: ["defineWebSocketHandler"],
  authorizer: ["defineAuthorizerHandler"],
  // its trigger follows from the jobs, not from the folder
  standalone: ["defineJobStreamHandler", "defineMigrationHandler"],
};

/** The timeout of a REST API in seconds (API Gateway quotas). */
const GATEWAY_SECONDS = 29;

/** The header of API keys without `apiKeyHeaders`. */
const DEFAULT_API_KEY_HEADER = "x-api-key";

/** The findings of all functions. */
interface Found {
  readonly errors: Findings;
  readonly warnings: Findings;
}

/** What is known of a function that cannot be loaded. */
const NOTHING: Omit<InfraFacts, "place"> = {
  options: {},
  isStreaming: false,
  routes: [],
  takesFiles: false,
  apiKeyHeaders: [],
  variables: [],
  jobs: [],
  sendsBySes: false,
  loadsSources: false,
  database: { providers: [], variables: [], usesIam: false },
  unresolved: [],
  errors: [],
};

/**
 * Reads the functions from what they define when they are loaded: handler options, environment variables, use of the
 * database.
 *
 * @returns The functions, with errors and warnings.
 * @throws {BuildError} If a file cannot be bundled.
 */
export async function readFunctions(options: ReadFunctionsOptions): Promise<FunctionSources> {
  const found: Found = { errors: new Findings(), warnings: new Findings() };
  const loaded = await loadFunctions({
    root: options.root,
    functions: options.files,
    readers: ["../grants/read_permissions", "./read_infra"].map((path) =>
      getModuleUrl(import.meta.url, path)
    ),
    onProgress: options.onProgress,
  });
  const database = joinDatabaseClients(
    loaded.flatMap(({ facts }) => facts === undefined ? [] : (facts[1] as InfraFacts).database),
  );
  const functions = options.files.map((file, at) => ({
    ...createFunction(file, loaded[at], options.settings[file.name] ?? {}, found),
    database,
  }));
  return { functions, errors: found.errors.list(), warnings: found.warnings.list() };
}

function createFunction(
  file: FunctionFile,
  { path, facts: read, error, warnings: doubts = [] }: FunctionFacts,
  configured: FunctionInfra,
  { errors, warnings }: Found,
): InfraFunction {
  const { name } = file;
  if (error !== undefined) errors.add(name, [{ place: error, message: error.message }]);
  const permissions = read?.[0] as PermissionFacts | undefined;
  const facts = read?.[1] as InfraFacts | undefined ??
    { ...NOTHING, place: { file: path, line: 1 } };
  errors.add(name, facts.errors);
  warnings.add(name, doubts.map(({ message, ...place }) => ({ place, message })));
  // an explicit list of variables is assumed to be complete
  (configured.environment === undefined ? errors : warnings).add(name, facts.unresolved);
  if (error === undefined) checkDefiner(file, facts, errors);
  const handlerOptions = readOptions(name, facts, errors);
  if (
    file.kind === "api" && !handlerOptions.streaming &&
    (handlerOptions.timeout ?? 0) > GATEWAY_SECONDS
  ) {
    warnings.add(name, [{
      place: facts.place,
      message:
        `timeout is ${handlerOptions.timeout} s, but API Gateway responds with 504 after ${GATEWAY_SECONDS} s`,
    }]);
  }
  const fn: InfraFunction = {
    ...file,
    source: path,
    line: facts.place.file === path ? facts.place.line : 1,
    id: snakeCase(name),
    definer: facts.definer,
    options: handlerOptions,
    settings: {
      ...getChangeTrigger(facts.definer, facts.table),
      ...addExportedResources(name, facts.resources, configured, errors),
    },
    variables: facts.variables,
    usesDatabase: permissions?.usesDatabase === true,
    tables: permissions?.tables.map(({ table }) => table) ?? [],
    takesFiles: facts.takesFiles,
    jobs: new Set(facts.jobs),
    sendsBySes: facts.sendsBySes,
    loadsSources: facts.loadsSources,
    inputs: file.kind === "authorizer"
      ? facts.inputs ?? { reads: [], unresolved: [`${path}:${facts.place.line}`] }
      : undefined,
  };
  const routes = file.isRouter
    ? facts.routes.map((route) => toRoute(fn, route, errors))
    : undefined;
  const takesKeys = (routes ?? [fn]).some(({ options }) => options.auth === "api-key");
  const keys = takesKeys ? { apiKeyHeaders: findApiKeyHeaders(name, facts, warnings) } : {};
  return {
    ...fn,
    ...keys,
    ...routes && { routes: routes.map((route) => ({ ...route, ...keys })) },
  };
}

/** Finds headers of API keys that gateways do not allow in requests of browsers by default. */
function findApiKeyHeaders(
  name: string,
  { apiKeyHeaders }: InfraFacts,
  warnings: Findings,
): string[] {
  const names = apiKeyHeaders.flatMap(({ place, value }) => {
    if (value !== undefined) return (value as string[]).map((each) => each.toLowerCase());
    const message =
      "apiKeyHeaders cannot be determined statically, so the gateway's preflight responses and the CDN " +
      `have only ${DEFAULT_API_KEY_HEADER}: use a literal value`;
    warnings.add(name, [{ place, message }]);
    return [];
  });
  return [...new Set(names)].filter((header) => header !== DEFAULT_API_KEY_HEADER);
}

/** Returns the entry of a router's route. */
function toRoute(fn: InfraFunction, route: RouteFacts, errors: Findings): InfraFunction {
  const { method, path, name, definer, place } = route;
  const options = readOptions(fn.name, route, errors);
  const shared = Object.keys(options).filter((option) => option in FUNCTION_RULES);
  if (shared.length > 0) {
    errors.add(fn.name, [{
      place,
      message:
        `the handler of ${method} ${path} has the option ${
          shared[0]
        }, but the routes of a router ` +
        "share one function: set it in the options of defineRouter",
    }]);
  }
  if (options.streaming) {
    errors.add(fn.name, [{
      place,
      message:
        `the handler of ${method} ${path} streams its response, which needs a function of its own: ` +
        "give it a file with one route",
    }]);
  }
  return {
    ...fn,
    name,
    method,
    path,
    id: snakeCase(name),
    owner: fn.id,
    definer,
    line: place.line,
    options,
  };
}

function checkDefiner(
  { name, kind, isRouter }: FunctionFile,
  { definer, place }: HandlerFacts,
  errors: Findings,
): void {
  if (
    definer !== undefined && kind === "api" &&
    isRouter !== (definer === "defineRouter" || undefined)
  ) {
    errors.add(name, [{
      place,
      message: isRouter
        ? `the file's name ends with .router, but ${definer} creates the handler: use defineRouter`
        : "defineRouter creates the handler: rename the file, so that its name ends with .router.ts",
    }]);
  }
  if (kind === "standalone") return;
  const expected = DEFINERS[kind];
  if (definer === undefined || expected.includes(definer)) return;
  const right = Object.entries(DEFINERS).find(([, definers]) => definers.includes(definer))?.[0];
  if (right === undefined) return;
  errors.add(name, [{
    place,
    message:
      `the handler is created by ${definer}, but the file is in ${kind}/: move it to ${right}/, or use ${
        expected[0]
      }`,
  }]);
}

/** Takes the options, which this package has checked, unless the environment decides them. */
function readOptions(name: string, handler: HandlerFacts, errors: Findings): HandlerOptions {
  const options: Record<string, unknown> = {};
  for (const [option, { place, value }] of Object.entries(handler.options)) {
    if (value !== undefined) options[option] = value;
    else {
      const message = `${option} cannot be determined statically: use a literal value`;
      errors.add(name, [{ place, message }]);
    }
  }
  return handler.isStreaming ? { ...options, streaming: true } : options;
}
