import { checkDeadLetterQueue, checkRange, FUNCTION_RANGES } from "../../core/function_options.ts";
import { PACKAGE_TABLES } from "../analysis/auth_tables.ts";
import { findAuthorizerReads } from "../analysis/authorizer_reads.ts";
import { createCollection } from "../analysis/collect.ts";
import { readSurroundings } from "../analysis/environment_variables.ts";
import { createEvaluator } from "../analysis/evaluate.ts";
import { type HandlerDefinition, readHandlerDefinition } from "../analysis/handler_definition.ts";
import { createFindings, type Finding, type Findings } from "../analysis/permissions.ts";
import { openProject, type Project } from "../analysis/project.ts";
import type { FunctionInfra } from "../config/infra.ts";
import type { FunctionFile, FunctionKind } from "../discovery/function_files.ts";
import type { AuthorizerInputs, HandlerOptions, InfraFunction } from "./infra_plan.ts";
import { snakeCase } from "./names.ts";

/** What the sources say of the functions. */
export interface FunctionSources {
  readonly functions: readonly InfraFunction[];
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** Options of {@link readFunctions}. */
export interface ReadFunctionsOptions {
  /** Absolute path of the project's folder. */
  readonly root: string;
  readonly files: readonly FunctionFile[];
  /** `infra.functions` of the configuration. */
  readonly settings: Readonly<Record<string, FunctionInfra>>;
  /** Told from time to time how many functions are done. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Which functions of the package belong into which folder. */
const DEFINERS: Readonly<Partial<Record<FunctionKind, readonly string[]>>> = {
  api: ["defineApiHandler", "createAuthHandler"],
  queue: ["defineQueueHandler"],
  topic: ["defineTopicHandler"],
  event: ["defineEventHandler"],
  schedule: ["defineScheduleHandler"],
  storage: ["defineStorageHandler"],
  websocket: ["defineWebSocketHandler"],
  authorizer: ["defineAuthorizerHandler"],
};

/** Seconds after which a REST gateway answers by itself (API Gateway quotas). */
const GATEWAY_SECONDS = 29;

/**
 * Reads the functions from their sources: options of the handlers, environment variables, use of the database. Nothing is run.
 *
 * @param options The project and its functions.
 * @returns The functions, and what cannot be told or will not do.
 * @throws {SyntaxError} When a file cannot be parsed.
 */
export async function readFunctions(options: ReadFunctionsOptions): Promise<FunctionSources> {
  const project = openProject(options.root);
  const evaluator = createEvaluator(project, PACKAGE_TABLES);
  const collection = createCollection(project, evaluator);
  const errors = createFindings(project);
  const warnings = createFindings(project);
  const functions: InfraFunction[] = [];

  for (const file of options.files) {
    const definition = readHandlerDefinition(project, evaluator, file.file);
    for (const { node, message } of definition.unresolved) errors.add(node, message, file.name);
    const surroundings = readSurroundings(project, collection, evaluator, project.read(file.file));
    const settings = options.settings[file.name] ?? {};
    // who lists its variables vouches for what the text does not tell
    const list = settings.environment === undefined ? errors : warnings;
    for (const { node, message } of surroundings.unresolved) list.add(node, message, file.name);
    checkDefiner(file, definition, errors);
    const handlerOptions = readOptions(file.name, definition, errors);
    if (file.kind === "api" && (handlerOptions.timeout ?? 0) > GATEWAY_SECONDS) {
      warnings.add(
        definition.node,
        `timeout is ${handlerOptions.timeout} s, but the gateway answers 504 after ${GATEWAY_SECONDS} s`,
        file.name,
      );
    }
    const { source } = project.read(file.file);
    functions.push({
      ...file,
      source: project.getPath(source),
      line: definition.line,
      id: snakeCase(file.name),
      definer: definition.definer,
      options: handlerOptions,
      settings,
      variables: surroundings.variables,
      usesDatabase: surroundings.usesDatabase,
      inputs: file.kind === "authorizer" ? readInputs(project, definition) : undefined,
    });
    options.onProgress?.(functions.length, options.files.length);
    // signals and timers have their turn
    if (functions.length % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return { functions, errors: errors.list(), warnings: warnings.list() };
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

function checkDefiner(
  { name, kind }: FunctionFile,
  { definer, node }: HandlerDefinition,
  errors: Findings,
): void {
  const expected = DEFINERS[kind];
  const others = Object.values(DEFINERS).flat().filter((each) =>
    expected !== undefined && !expected.includes(each)
  );
  if (definer === undefined || !others.includes(definer)) return;
  const right = Object.entries(DEFINERS).find(([, definers]) => definers.includes(definer))?.[0];
  errors.add(
    node,
    `the handler is made with ${definer}, but the file is in ${kind}/: move it to ${right}/, or use ${
      expected![0]
    }`,
    name,
  );
}

const CHECKS: Readonly<Record<keyof HandlerOptions, (name: string, value: unknown) => void>> = {
  timeout: checkNumber,
  memorySize: checkNumber,
  reservedConcurrency: checkNumber,
  ephemeralStorage: checkNumber,
  retryAttempts: checkNumber,
  deadLetterQueue: (_, value) => checkDeadLetterQueue(value),
  auth: checkAuth,
  cors: () => {},
};

const AUTH_MODES = ["none", "bearer", "authorizer", "authorizer-optional", "session"];

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
          `${option} cannot be told from the text: write its value out`,
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
  return options;
}

function checkNumber(name: string, value: unknown): void {
  checkRange(name, value, FUNCTION_RANGES[name]);
}

function checkAuth(_: string, value: unknown): void {
  if (!AUTH_MODES.includes(value as string)) {
    throw new TypeError(`auth is ${JSON.stringify(value)}: it must be ${AUTH_MODES.join(", ")}`);
  }
}
