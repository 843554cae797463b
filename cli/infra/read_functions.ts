import {
  checkDeadLetterQueue,
  checkRange,
  FUNCTION_RANGES,
  FUNCTION_RULES,
} from "../../core/function_options.ts";
import { DEFAULT_API_KEY_HEADER, readApiKeyHeaders } from "../analysis/api_key_headers.ts";
import { PACKAGE_TABLES } from "../grants/auth_tables.ts";
import { findAuthorizerReads } from "../analysis/authorizer_reads.ts";
import { createCollection } from "../analysis/collect.ts";
import { readDatabaseClients } from "../analysis/database_clients.ts";
import { readEnvironment } from "../analysis/environment_variables.ts";
import { describeInvalidAuth } from "../analysis/auth_mode.ts";
import { createEvaluator } from "../analysis/evaluate.ts";
import { type HandlerDefinition, readHandlerDefinition } from "../analysis/handler_definition.ts";
import { createFindings, type Findings } from "../analysis/findings.ts";
import type { Finding } from "../project/findings.ts";
import { Project } from "../analysis/project.ts";
import type { Evaluator, TableName } from "../analysis/values.ts";
import { readRouterDefinition, type RouteDefinition } from "../analysis/router_definition.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionKind } from "../discovery/function_kinds.ts";
import { getChangeTrigger } from "./change_consumers.ts";
import { addExportedResources } from "./exported_resources.ts";
import type { AuthorizerInputs, HandlerOptions, InfraFunction } from "./infra_plan.ts";
import { snakeCase } from "../snake_case.ts";

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
const DEFINERS: Readonly<Partial<Record<FunctionKind, readonly string[]>>> = {
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

/**
 * Reads the functions from their sources: handler options, environment variables, use of the
 * database. Static analysis only.
 *
 * @returns The functions, with errors and warnings.
 * @throws {SyntaxError} If a file cannot be parsed.
 */
export async function readFunctions(options: ReadFunctionsOptions): Promise<FunctionSources> {
  const project = new Project(options.root);
  const evaluator = createEvaluator(project, PACKAGE_TABLES);
  const collection = createCollection(project, evaluator);
  const errors = createFindings(project);
  const warnings = createFindings(project);
  const functions: InfraFunction[] = [];

  for (const file of options.files) {
    const definition = readHandlerDefinition(project, evaluator, file.file);
    for (const { node, message } of definition.unresolved) errors.add(node, message, file.name);
    const environment = readEnvironment(collection, evaluator, project.read(file.file));
    const configured = options.settings[file.name] ?? {};
    const settings = {
      ...getChangeTrigger(definition.definer, findTable(evaluator, definition)),
      ...addExportedResources(project, evaluator, file, configured, errors),
    };
    // an explicit list of variables is assumed to be complete
    const list = settings.environment === undefined ? errors : warnings;
    for (const { node, message } of environment.unresolved) list.add(node, message, file.name);
    checkDefiner(file, definition, errors);
    const handlerOptions = readOptions(file.name, definition, errors);
    if (
      file.kind === "api" && !handlerOptions.streaming &&
      (handlerOptions.timeout ?? 0) > GATEWAY_SECONDS
    ) {
      warnings.add(
        definition.node,
        `timeout is ${handlerOptions.timeout} s, but API Gateway responds with 504 after ${GATEWAY_SECONDS} s`,
        file.name,
      );
    }
    const { source } = project.read(file.file);
    const fn: InfraFunction = {
      ...file,
      source: project.getPath(source),
      line: definition.line,
      id: snakeCase(file.name),
      definer: definition.definer,
      options: handlerOptions,
      settings,
      variables: environment.variables,
      usesDatabase: environment.usesDatabase,
      takesFiles: takesFiles(definition),
      jobs: environment.jobs,
      sendsBySes: environment.sendsBySes,
      loadsSources: environment.loadsSources,
      inputs: file.kind === "authorizer" ? readInputs(project, definition) : undefined,
    };
    const router = readRouterDefinition(project, evaluator, file, definition);
    for (const { node, message } of router.unresolved) errors.add(node, message, file.name);
    const routes = file.isRouter
      ? router.routes.map((route) => toRoute(fn, route, errors))
      : undefined;
    const takesKeys = (routes ?? [fn]).some(({ options }) => options.auth === "api-key");
    const keys = takesKeys
      ? { apiKeyHeaders: findApiKeyHeaders(project, evaluator, file, warnings) }
      : {};
    functions.push({
      ...fn,
      ...keys,
      ...routes && { routes: routes.map((route) => ({ ...route, ...keys })) },
    });
    options.onProgress?.(functions.length, options.files.length);
    // lets signals and timers run
    if (functions.length % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const sources = project.listFiles().map((path) => project.read(path).source);
  const database = readDatabaseClients(sources, evaluator);
  const all = functions.map((fn) => ({ ...fn, database }));
  return { functions: all, errors: errors.list(), warnings: warnings.list() };
}

/** Finds headers of API keys that gateways do not allow in requests of browsers by default. */
function findApiKeyHeaders(
  project: Project,
  evaluator: Evaluator,
  { file, name }: FunctionFile,
  warnings: Findings,
): string[] {
  const found = readApiKeyHeaders(project, evaluator, [file], (node) => {
    warnings.add(
      node,
      "apiKeyHeaders cannot be determined statically, so the gateway's preflight responses and the CDN " +
        `have only ${DEFAULT_API_KEY_HEADER}: use a literal value`,
      name,
    );
  });
  const names = found.flatMap(({ headers }) => headers.map((header) => header.toLowerCase()));
  return [...new Set(names)].filter((header) => header !== DEFAULT_API_KEY_HEADER);
}

function takesFiles(definition: HandlerDefinition): boolean {
  return definition.getExpression("bodyParser") !== undefined;
}

/** Returns the entry of a router's route. */
function toRoute(
  fn: InfraFunction,
  { method, path, name, definition }: RouteDefinition,
  errors: Findings,
): InfraFunction {
  const { definer, line, node } = definition;
  const options = readOptions(fn.name, definition, errors);
  const shared = Object.keys(options).filter((option) => option in FUNCTION_RULES);
  if (shared.length > 0) {
    errors.add(
      node,
      `the handler of ${method} ${path} has the option ${shared[0]}, but the routes of a router ` +
        "share one function: set it in the options of defineRouter",
      fn.name,
    );
  }
  if (options.streaming) {
    errors.add(
      node,
      `the handler of ${method} ${path} streams its response, which needs a function of its own: ` +
        "give it a file with one route",
      fn.name,
    );
  }
  return { ...fn, name, method, path, id: snakeCase(name), owner: fn.id, definer, line, options };
}

function readInputs(project: Project, definition: HandlerDefinition): AuthorizerInputs {
  const { reads, unresolved } = findAuthorizerReads(project, definition);
  const getPlace = (node: Parameters<Project["getPath"]>[0]) =>
    `${project.getPath(node)}:${project.getLine(node)}`;
  return {
    reads: reads.map(({ source, node }) => ({ source, place: getPlace(node) })),
    unresolved: unresolved.map(getPlace),
  };
}

/** Returns the table in the option `table` of a handler. */
function findTable(
  evaluator: Evaluator,
  { getExpression }: HandlerDefinition,
): TableName | undefined {
  const node = getExpression("table");
  const value = node && evaluator.evaluate(node);
  return value?.kind === "table" ? value.table : undefined;
}

function checkDefiner(
  { name, kind, isRouter }: FunctionFile,
  { definer, node }: HandlerDefinition,
  errors: Findings,
): void {
  if (
    definer !== undefined && kind === "api" &&
    isRouter !== (definer === "defineRouter" || undefined)
  ) {
    errors.add(
      node,
      isRouter
        ? `the file's name ends with .router, but ${definer} creates the handler: use defineRouter`
        : "defineRouter creates the handler: rename the file, so that its name ends with .router.ts",
      name,
    );
  }
  if (kind === "standalone") return;
  const expected = DEFINERS[kind];
  const others = Object.values(DEFINERS).flat().filter((each) =>
    expected !== undefined && !expected.includes(each)
  );
  if (definer === undefined || !others.includes(definer)) return;
  const right = Object.entries(DEFINERS).find(([, definers]) => definers.includes(definer))?.[0];
  errors.add(
    node,
    `the handler is created by ${definer}, but the file is in ${kind}/: move it to ${right}/, or use ${
      expected![0]
    }`,
    name,
  );
}

const CHECKS: Readonly<
  Record<keyof Omit<HandlerOptions, "streaming">, (name: string, value: unknown) => void>
> = {
  timeout: checkNumber,
  memorySize: checkNumber,
  reservedConcurrency: checkNumber,
  ephemeralStorage: checkNumber,
  retryAttempts: checkNumber,
  deadLetterQueue: (_, value) => checkDeadLetterQueue(value),
  auth: checkAuth,
  cors: () => {},
  partialFailures: checkBoolean,
};

function readOptions(
  name: string,
  definition: HandlerDefinition,
  errors: Findings,
): HandlerOptions {
  const options: Record<string, unknown> = {};
  for (const [option, check] of Object.entries(CHECKS)) {
    const literal = definition.getLiteral(option);
    if (literal === undefined) continue;
    if (literal.kind === "unknown") {
      const isKnown = definition.unresolved.some(({ node }) => node === literal.node);
      if (!isKnown) {
        errors.add(
          literal.node,
          `${option} cannot be determined statically: use a literal value`,
          name,
        );
      }
      continue;
    }
    try {
      check(option, literal.value);
      options[option] = literal.value;
    } catch (error) {
      errors.add(
        definition.getExpression(option) ?? definition.node,
        (error as Error).message,
        name,
      );
    }
  }
  // the result of a call, which has no literal value
  return definition.getExpression("streaming") === undefined
    ? options
    : { ...options, streaming: true };
}

function checkNumber(name: string, value: unknown): void {
  checkRange(name, value, FUNCTION_RANGES[name]);
}

function checkBoolean(name: string, value: unknown): void {
  if (typeof value !== "boolean") throw new TypeError(`${name} must be true or false`);
}

function checkAuth(_: string, value: unknown): void {
  const problem = describeInvalidAuth(value);
  if (problem !== undefined) throw new TypeError(problem);
}
