import {
  type ApiRoute,
  buildOpenApiDocument,
  type OpenApiDocument,
  type OpenApiInfo,
  type OpenApiVersion,
} from "../../validation/openapi/document.ts";
import type { OpenApiMetadata, RegisteredOperation } from "../../validation/openapi/registry.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { Router } from "../../router/define_router.ts";
import type { ConfiguredServer } from "../config/openapi.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { nameRoute, ROUTE_METHODS } from "../discovery/route_files.ts";
import { checkFacts, type TogetherModule } from "../project/load_together.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import type { Place } from "../sources/source_positions.ts";
import type { AnyNode } from "../sources/syntax.ts";
import type { AuthFunction } from "./auth_functions.ts";
import { nameOperations, type SourceOperation } from "./operation_ids.ts";
import {
  type AnySchema,
  createResponseReader,
  getDefinitionPlace,
  type ReachableResponses,
  type SuccessResponse,
} from "./read_responses.ts";
import { findSourceName, listNamedSchemas, type Modules, nameSchemas } from "./schema_names.ts";
import { type OpenApiFinding, SchemaFindings } from "./schema_findings.ts";
import { checkRules, FLAG, isObject, type Rules } from "../config/setting_rules.ts";

const STRING = ["a string", (value: unknown) => typeof value === "string"] as const;

/** The rules of the option `openapi`. */
const RULES: Rules = {
  summary: STRING,
  description: STRING,
  tags: [
    "a list of strings",
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  ],
  operationId: STRING,
  deprecated: FLAG,
  successStatus: ["a status from 200 to 399", (value) => isStatus(value) && Number(value) < 400],
  responses: [
    'strings by status: { 409: "The title is taken" }',
    (value) =>
      isObject(value) &&
      Object.entries(value).every(([status, text]) =>
        isStatus(Number(status)) && typeof text === "string"
      ),
  ],
  hidden: FLAG,
  webhook: ["a name", (value) => typeof value === "string" && value !== ""],
};

function isStatus(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599;
}

/**
 * Checks the option `openapi` of a handler.
 *
 * @param metadata The value.
 * @returns The error messages.
 */
function checkMetadata(metadata: unknown): string[] {
  return isObject(metadata)
    ? checkRules("openapi", metadata, RULES)
    : ["openapi must be an object"];
}

/** What the reader needs besides the modules. */
export interface OperationsData {
  /** The HTTP functions, with files relative to the project. */
  readonly functions: readonly FunctionFile[];
  /** `src/events.ts#NoteEvent` */
  readonly additionalSchemas: readonly string[];
  readonly info: OpenApiInfo;
  readonly servers?: readonly (string | ConfiguredServer)[];
  readonly version: OpenApiVersion;
  /** `src/auth.ts#authConfig`: the configuration of better-auth, if not the only one. */
  readonly authConfig?: string;
}

/** The document of a project's handlers. */
export interface ReadOperations {
  readonly document: OpenApiDocument;
  /** Errors: the document is incomplete or wrong. */
  readonly findings: readonly OpenApiFinding[];
  readonly warnings: readonly OpenApiFinding[];
  /** Functions of other kinds; they are not described. */
  readonly undescribed: readonly Place[];
}

/** Handler options that are schemas. */
const SCHEMA_OPTIONS = [
  "schema",
  "querySchema",
  "pathSchema",
  "headers",
  "cookies",
  "responseSchema",
] as const;

/**
 * Builds the document of the loaded handlers and of the routes of better-auth that they mount. Runs in the process that
 * loads them.
 */
export async function read(fn: LoadedFunction): Promise<ReadOperations> {
  const { modules, data } = fn.module as TogetherModule<OperationsData>;
  const schemas = new SchemaFindings(listNamedSchemas(fn, modules));
  const { operations, authFunctions, undescribed } = readFunctions(fn, modules, data, schemas);
  const warnings: OpenApiFinding[] = [];
  const ids = nameOperations(operations, (finding) => schemas.add(finding));
  const getResponses = createResponseReader(fn);
  const unknownErrors = new Set<AnyNode>();
  const routes = operations.map((operation): ApiRoute => {
    const reached = getResponses(findHandlerNodes(fn, operation.definition));
    reached.unknownErrors.forEach((node) => unknownErrors.add(node));
    return toRoute(operation, ids.get(operation)!, reached, schemas);
  });
  const additionalSchemas = data.additionalSchemas.flatMap((label) =>
    readAdditional(fn, label, modules, schemas)
  );
  const { names, clashes } = nameSchemas(schemas.named);
  const document = buildOpenApiDocument(data.info, routes, data.servers, {
    version: data.version,
    apiKeyHeader: readApiKeyHeader(operations, warnings),
    additionalSchemas,
    schemaNames: names,
    onIssue: (issue) => schemas.addIssue(issue.schema, issue),
  });
  for (const { name, places: [{ file, line }, ...others] } of clashes) {
    const message = `${name} is exported by ${
      others.map((other) => `${other.file}:${other.line}`).join(", ")
    } too, so the component names contain the file name. Set .meta({ id: "…" }) on one of them`;
    warnings.push({ file, line, message });
  }
  for (const node of unknownErrors) {
    warnings.unshift({
      ...fn.getPlace(node),
      message: "the code of this AppError is only known at run time, so its status is not in the " +
        "document: use a literal code, or describe the status in openapi.responses",
    });
  }
  const described = authFunctions.length === 0
    ? { document, findings: [] }
    : await describeAuth(fn, data.authConfig, authFunctions, document);
  const findings = [...schemas.findings, ...described.findings];
  return checkFacts({ document: described.document, findings, warnings, undescribed });
}

/** Adds the routes of better-auth. */
async function describeAuth(
  fn: LoadedFunction,
  from: string | undefined,
  functions: readonly AuthFunction[],
  document: OpenApiDocument,
): Promise<Pick<ReadOperations, "document" | "findings">> {
  // imported on demand, because they load better-auth
  const [{ findAuthConfigs }, { describeAuthRoutes }, { addAuthRoutes }] = await Promise.all([
    import("../auth_schema/read_auth_config.ts"),
    import("../../auth/routes/describe_routes.ts"),
    import("./auth_operations.ts"),
  ]);
  try {
    const [config, ...others] = findAuthConfigs(fn, from);
    if (config === undefined || others.length > 0) {
      throw new ConfigurationError(
        `the functions have ${
          config === undefined ? "no configuration" : `${others.length + 1} configurations`
        } of better-auth: set auth.config in trellis.config.ts`,
      );
    }
    return addAuthRoutes(document, functions, await describeAuthRoutes(config));
  } catch (error) {
    if (!isAppError(error)) throw error;
    const [{ file, line }] = functions;
    const message = `the auth routes cannot be described: ${error.message}`;
    return { document, findings: [{ file, line, message }] };
  }
}

interface ReadFunctions {
  readonly operations: SourceOperation[];
  readonly authFunctions: AuthFunction[];
  readonly undescribed: Place[];
}

function readFunctions(
  loaded: LoadedFunction,
  modules: Modules,
  { functions }: OperationsData,
  schemas: SchemaFindings,
): ReadFunctions {
  const found: ReadFunctions = { operations: [], authFunctions: [], undescribed: [] };
  for (const fn of [...functions].sort(compareRoutes)) {
    const { handler } = modules[fn.file] ?? {};
    if (handler === undefined) {
      schemas.add({ file: fn.file, line: 1, message: NO_HANDLER });
      continue;
    }
    const routes = fn.isRouter
      ? ((handler as Partial<Router>).routes ?? []).map(({ method, path, handler }) => ({
        fn: { ...fn, method, path, name: `${fn.name}${nameRoute(method, path)}` },
        handler: handler as unknown,
      }))
      : [{ fn, handler }];
    for (const route of routes) readFunction(loaded, route.fn, route.handler, found, schemas);
  }
  found.operations.sort((one, other) => compareRoutes(one.fn, other.fn));
  return found;
}

function readFunction(
  loaded: LoadedFunction,
  fn: FunctionFile,
  handler: unknown,
  { operations, authFunctions, undescribed }: ReadFunctions,
  schemas: SchemaFindings,
): void {
  const definitions = loaded.list("defineApiHandler", "createAuthHandler");
  // a function that wraps our handler, such as an error tracker, does not change its options
  const definition = definitions.find(({ value }) => value === handler) ??
    definitions.findLast(({ place }) => place.file === fn.file);
  const place = definition === undefined
    ? { file: fn.file, line: 1 }
    : getDefinitionPlace(loaded, definition);
  if (definition === undefined) undescribed.push(place);
  else if (definition.name === "createAuthHandler") {
    const { routes, errorBody } = (definition.args[1] ?? {}) as {
      routes?: readonly string[];
      errorBody?: unknown;
    };
    authFunctions.push({
      fn,
      ...place,
      ...routes !== undefined && { routes },
      hasErrorBody: errorBody !== undefined,
    });
  } else {
    const { operation } = definition.value as { operation: RegisteredOperation };
    const [options, run] = definition.args as [{ operationName?: string }, { name?: string }];
    const problems = checkMetadata(operation.openapi);
    for (const message of problems) schemas.add({ ...place, message });
    operations.push({
      fn,
      ...place,
      ...run.name && { functionName: findSourceName(run.name, place.file) },
      operationName: options.operationName,
      openapi: problems.length === 0 ? operation.openapi : {},
      registered: operation,
      definition,
    });
  }
}

const NO_HANDLER = "the file does not export a handler. Write export " +
  "const handler = defineApiHandler({ … })(…)";

/** Compares functions by path, then by the conventional order of methods. */
function compareRoutes(one: FunctionFile, other: FunctionFile): number {
  const path = one.path ?? "", otherPath = other.path ?? "";
  if (path !== otherPath) return path < otherPath ? -1 : 1;
  const rank = ({ method }: FunctionFile) =>
    (ROUTE_METHODS as readonly string[]).indexOf(method?.toLowerCase() ?? "");
  return rank(one) - rank(other);
}

/** Adds what the handler's code shows to what the handler registers. */
function toRoute(
  operation: SourceOperation,
  operationId: string,
  { errors, successes, failures, signatures }: ReachableResponses,
  schemas: SchemaFindings,
): ApiRoute {
  const { fn, openapi, registered } = operation;
  const described = Object.fromEntries(
    SCHEMA_OPTIONS.map((name) => [name, schemas.use(registered[name], operation, name)]),
  ) as Pick<RegisteredOperation, typeof SCHEMA_OPTIONS[number]>;
  const declared = Object.entries(registered.responses ?? {});
  const isOneSchema = registered.responseSchema !== undefined;
  // what the handler declares otherwise is refused at run time
  const isSent = ({ status, hasBody, isUndeclared }: SuccessResponse) =>
    isUndeclared || !isOneSchema && declared.length === 0 ||
    isOneSchema && status < 300 || status >= 300 && status < 400 && !hasBody;
  const statuses = [...errors, ...failures.filter(isSent).map(({ status }) => status)];
  const metadata: OpenApiMetadata = {
    ...openapi,
    operationId,
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, ""])),
      ...openapi.responses,
    },
  };
  const responses: Record<number, AnySchema[]> = {};
  const openBodies = new Set<number>();
  for (const [status, each] of declared) {
    responses[Number(status)] = each.flatMap((schema) =>
      schemas.use(schema, operation, "responses") ?? []
    );
  }
  for (const schema of Object.values(registered.responseHeaders ?? {})) {
    schemas.use(schema, operation, "responses");
  }
  for (const { status, hasBody, schema } of declared.length > 0 ? [] : successes.filter(isSent)) {
    const value = schema && schemas.use(schema, operation, "the response schema");
    responses[status] = [...responses[status] ?? [], ...value ? [value] : []];
    if (hasBody && value === undefined) openBodies.add(status);
  }
  return {
    method: fn.method!,
    path: fn.path!,
    operation: {
      ...registered,
      ...described,
      responses,
      openBodies,
      operationName: fn.name,
      signatures: [...signatures].sort(),
      openapi: metadata,
    },
  };
}

/** Returns the code of a handler, with its options if their `auth` checks the signatures of webhooks. */
function findHandlerNodes(fn: LoadedFunction, definition: PlacedDefinition): readonly AnyNode[] {
  const { arguments: own = [], callee } = fn.findCall(definition) ?? {};
  const { auth } = (definition.args[0] ?? {}) as { auth?: AuthMethod | string };
  const hasCheck = typeof auth === "object" && auth.mode === "none";
  return hasCheck && callee?.type === "CallExpression" ? [...callee.arguments, ...own] : own;
}

function readAdditional(
  fn: LoadedFunction,
  label: string,
  modules: Modules,
  schemas: SchemaFindings,
): AnySchema[] {
  const [file, name] = label.split("#");
  const module = modules[file.replace(/^\.\//, "")];
  if (module === undefined || !Object.hasOwn(module, name)) {
    const message = `openapi.additionalSchemas has ${label}, which is not exported`;
    schemas.add({ file: "trellis.config.ts", line: 1, message });
    return [];
  }
  const places = [...fn.syntax.declarations].map(([local, node]) => ({
    local,
    ...fn.getPlace(node),
  }));
  const { line } = places.find((place) => place.file === file && place.local === name) ??
    { line: 1 };
  const schema = schemas.use(module[name], { file, line }, label);
  return schema === undefined ? [] : [schema];
}

/** Reads the header of API keys; `undefined` for the default. */
function readApiKeyHeader(
  operations: readonly SourceOperation[],
  warnings: OpenApiFinding[],
): string | undefined {
  if (!operations.some(({ registered }) => registered.auth === "api-key")) return undefined;
  const found: { readonly header: string; readonly place: { file: string; line: number } }[] = [];
  for (const { registered, definition, file, line } of operations) {
    const { auth } = (definition.args[0] ?? {}) as { auth?: AuthMethod | string };
    if (registered.auth !== "api-key" || typeof auth !== "object") continue;
    const [header = "x-api-key"] = auth.apiKeyHeaders ?? [];
    found.push({ header, place: { file, line } });
  }
  if (new Set(found.map(({ header }) => header)).size > 1) {
    warnings.push({
      ...found.at(-1)!.place,
      message: "API keys have several headers, of which the document can name only one",
    });
  }
  return found[0]?.header;
}
