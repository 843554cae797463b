import {
  API_KEY_RULES,
  type AuthMethodMode,
  isRestricted,
  SESSION_RULES,
} from "../../core/http/auth_method.ts";
import { describeInvalidAuth, getAuthOptions } from "../analysis/auth_mode.ts";
import { createEvaluator } from "../analysis/evaluate.ts";
import { type HandlerDefinition, readHandlerDefinition } from "../analysis/handler_definition.ts";
import { asObject, readProperty } from "../analysis/object_literals.ts";
import { Project } from "../analysis/project.ts";
import { readRouterDefinition } from "../analysis/router_definition.ts";
import { createResponseReader } from "../analysis/reachable_responses.ts";
import { Slicer } from "../analysis/schema_slice.ts";
import type { Evaluator } from "../analysis/values.ts";
import type { Slice, SliceUse, SourceLocation } from "../analysis/slice.ts";
import { ts, unwrap } from "../analysis/typescript.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { ROUTE_METHODS } from "../discovery/route_files.ts";
import type { IdempotencyMetadata } from "../../core/idempotency.ts";
import type { OpenApiMetadata } from "../../validation/openapi/registry.ts";
import { type AdditionalSchema, readAdditionalSchemas } from "./additional_schemas.ts";
import { findApiKeyHeader } from "./api_key_header.ts";
import type { AuthFunction } from "./auth_functions.ts";
import { checkMetadata } from "./check_metadata.ts";
import { getSchema, readDeclaredResponses } from "./handler_schemas.ts";
import { readIdempotency } from "./read_idempotency.ts";

/** Handler options that are schemas. */
export const SCHEMA_OPTIONS = ["schema", "querySchema", "pathSchema", "responseSchema"] as const;

/** A handler option that is a schema. */
export type SchemaOption = typeof SCHEMA_OPTIONS[number];

/** A message about code that cannot be resolved or described. */
export interface OpenApiFinding extends SourceLocation {
  readonly message: string;
}

/** A successful response of a handler; without a schema its body is unknown. */
export interface SuccessUse {
  readonly status: number;
  readonly hasBody: boolean;
  /** `isDeclared` is true for the option `responses`, false for an argument in the handler's code. */
  readonly schema?: SliceUse & { readonly isDeclared: boolean };
}

/** An operation as described by its source file. */
export interface SourceOperation extends SourceLocation {
  readonly fn: FunctionFile;
  /** The name of the handler's function, if it has one. */
  readonly functionName?: string;
  readonly operationName?: string;
  readonly auth: AuthMethodMode;
  /** True if an option refuses authenticated callers with 403. */
  readonly isRestricted: boolean;
  /** True if the handler admits callers without a session. */
  readonly isOptional: boolean;
  /** True if an option limits the rate of requests. */
  readonly isRateLimited: boolean;
  /** True if the option `errorBody` replaces the bodies of errors. */
  readonly hasErrorBody: boolean;
  /** Headers with signatures of webhooks that the handler checks. */
  readonly signatures: readonly string[];
  readonly openapi: OpenApiMetadata;
  readonly idempotency?: IdempotencyMetadata;
  readonly schemas: Readonly<Partial<Record<SchemaOption, SliceUse>>>;
  /** Statuses of success with the schemas of their bodies. */
  readonly successes: readonly SuccessUse[];
  /** Error statuses that the handler's code can end with. */
  readonly statuses: readonly number[];
}

/** The operations of a project. */
export interface SourceOperations {
  readonly operations: readonly SourceOperation[];
  /** Schemas that no operation uses. */
  readonly additional: readonly AdditionalSchema[];
  /** All schemas with everything needed to evaluate them. */
  readonly slice: Slice;
  readonly findings: readonly OpenApiFinding[];
  /** Errors whose status is only known at run time. */
  readonly warnings: readonly OpenApiFinding[];
  /** The header of API keys; omitted for the default. */
  readonly apiKeyHeader?: string;
  /** Functions that serve routes of better-auth. */
  readonly authFunctions: readonly AuthFunction[];
  /** Functions of other kinds; they are not described. */
  readonly undescribed: readonly SourceLocation[];
}

/**
 * Reads the operations of HTTP functions from their files. Static analysis only.
 *
 * @param files The functions; kinds other than `api` are ignored.
 * @param onProgress Called with the number of finished files.
 * @param additionalSchemas Exports that become components: `src/events.ts#NoteEvent`.
 * @returns The operations, sorted by path and method.
 */
export async function readOperations(
  root: string,
  files: readonly FunctionFile[],
  onProgress: (done: number, total: number) => void = () => {},
  additionalSchemas: readonly string[] = [],
): Promise<SourceOperations> {
  const project = new Project(root);
  const evaluator = createEvaluator(project);
  const slicer = new Slicer(project);
  const getResponses = createResponseReader(project, evaluator);
  const operations: SourceOperation[] = [];
  const findings: OpenApiFinding[] = [];
  const warnings = new Map<ts.Node, OpenApiFinding>();
  const authFunctions: AuthFunction[] = [];
  const undescribed: SourceLocation[] = [];
  const routes = files.filter(({ kind }) => kind === "api").sort(compareRoutes);

  for (const [index, fn] of routes.entries()) {
    if (index % BATCH === 0) {
      onProgress(index, routes.length);
      // lets signals run
      await new Promise((resolve) => setImmediate(resolve));
    }
    const file = readHandlerDefinition(project, evaluator, fn.file);
    const router = readRouterDefinition(project, evaluator, fn, file);
    const find = (node: ts.Node, message: string) => {
      findings.push({ ...project.getLocation(node), message });
    };
    for (const { node, message } of [...file.unresolved, ...router.unresolved]) {
      find(node, message);
    }
    for (const { definition, ...route } of fn.isRouter ? router.routes : [{ definition: file }]) {
      const target = { ...fn, ...route };
      if (definition.definer === "defineApiHandler") {
        const context = { project, evaluator, slicer, getResponses, find, warnings };
        operations.push(readOperation(target, definition, context));
      } else if (definition.definer === "createAuthHandler") {
        authFunctions.push(readAuthFunction(target, definition, project, find));
      } else if (definition.unresolved.length === 0) {
        undescribed.push(project.getLocation(definition.node));
      }
    }
  }
  operations.sort((one, other) => compareRoutes(one.fn, other.fn));
  const additional = readAdditionalSchemas(project, slicer, additionalSchemas, findings);
  const withApiKeys = operations.filter(({ auth }) => auth === "api-key").map(({ fn }) => fn.file);
  const apiKeyHeader = findApiKeyHeader(project, evaluator, withApiKeys, (node, message) => {
    warnings.set(node, { ...project.getLocation(node), message });
  });
  return {
    operations,
    apiKeyHeader,
    additional,
    slice: slicer.finish(),
    findings,
    warnings: [...warnings.values()],
    authFunctions,
    undescribed,
  };
}

function readAuthFunction(
  fn: FunctionFile,
  definition: HandlerDefinition,
  project: Project,
  find: (node: ts.Node, message: string) => void,
): AuthFunction {
  const routes = definition.getLiteral("routes");
  if (routes?.kind === "unknown") {
    find(routes.node, "routes cannot be determined statically: use a literal value");
  }
  return {
    fn,
    ...project.getLocation(definition.node),
    ...routes?.kind === "known" && { routes: routes.value as readonly string[] },
    hasErrorBody: definition.getExpression("errorBody") !== undefined,
  };
}

const BATCH = 50;

/** Compares functions by path, then by the conventional order of methods. */
function compareRoutes(one: FunctionFile, other: FunctionFile): number {
  const path = one.path ?? "", otherPath = other.path ?? "";
  if (path !== otherPath) return path < otherPath ? -1 : 1;
  const rank = ({ method }: FunctionFile) =>
    (ROUTE_METHODS as readonly string[]).indexOf(method?.toLowerCase() ?? "");
  return rank(one) - rank(other);
}

interface ReadContext {
  readonly project: Project;
  readonly evaluator: Evaluator;
  readonly slicer: Slicer;
  readonly getResponses: ReturnType<typeof createResponseReader>;
  readonly find: (node: ts.Node, message: string) => void;
  /** Receives warnings by node. */
  readonly warnings: Map<ts.Node, OpenApiFinding>;
}

function readOperation(
  fn: FunctionFile,
  definition: HandlerDefinition,
  { project, evaluator, slicer, getResponses, find, warnings }: ReadContext,
): SourceOperation {
  function readOption(option: string): unknown {
    const literal = definition.getLiteral(option);
    if (literal?.kind !== "unknown") return literal?.value;
    find(literal.node, `${option} cannot be determined statically: use a literal value`);
    return undefined;
  }

  const auth = readOption("auth") ?? "none";
  const needs = readNeeds(definition, evaluator, find);
  const invalid = describeInvalidAuth(auth);
  if (invalid !== undefined) find(definition.node, invalid);
  const openapi = readOption("openapi") ?? {};
  const problem = checkMetadata(openapi);
  if (problem !== undefined) find(definition.node, problem);
  const operationName = readOption("operationName");
  const schemas: Partial<Record<SchemaOption, SliceUse>> = {};
  for (const option of SCHEMA_OPTIONS) {
    const expression = getSchema(definition, evaluator, option);
    if (expression !== undefined) schemas[option] = slicer.add(expression);
  }
  const handler = ts.isCallExpression(definition.node) ? definition.node.arguments[0] : undefined;
  const reached = handler && getResponses(handler);
  for (const node of reached?.unknownErrors ?? []) {
    warnings.set(node, {
      ...project.getLocation(node),
      message: "the code of this AppError is only known at run time, so its status is not in the " +
        "document: use a literal code, or describe the status in openapi.responses",
    });
  }
  const declared = readDeclaredResponses(definition, evaluator, find);
  const found = declared ?? reached?.successes ?? [];
  return {
    fn,
    ...project.getLocation(definition.node),
    functionName: handler && getName(unwrap(handler)),
    operationName: typeof operationName === "string" ? operationName : undefined,
    auth: auth as AuthMethodMode,
    isRestricted: isRestricted(needs),
    isOptional: needs.optional === true,
    isRateLimited: definition.getExpression("rateLimit") !== undefined,
    hasErrorBody: definition.getExpression("errorBody") !== undefined,
    signatures: [...reached?.signatures ?? []].sort(),
    idempotency: readIdempotency(definition, evaluator, find),
    openapi: problem === undefined ? openapi as OpenApiMetadata : {},
    schemas,
    successes: found.map(({ status, hasBody, schema }) => ({
      status,
      hasBody,
      schema: schema && { ...slicer.add(schema), isDeclared: declared !== undefined },
    })),
    statuses: [...reached?.errors ?? []].sort((a, b) => a - b),
  };
}

/**
 * Reads what a handler asks of its callers: the options beside the name of a mode, or those of a value such as
 * `session({ roles })`. The value of an option other than `optional` is not needed.
 */
function readNeeds(
  definition: HandlerDefinition,
  evaluator: Evaluator,
  find: (node: ts.Node, message: string) => void,
): Record<string, unknown> {
  const auth = definition.getExpression("auth");
  const value = auth && getAuthOptions({ kind: "expression", node: auth });
  const given = value?.given && evaluator.evaluate(value.given.node, value.given.bindings);
  const options = given && asObject(given);
  if (given !== undefined && options === undefined) {
    find(
      definition.node,
      "the options of auth cannot be determined statically: use a literal value",
    );
  }
  const needs: Record<string, unknown> = {};
  for (const name of Object.keys({ ...SESSION_RULES, ...API_KEY_RULES })) {
    const literal = value === undefined
      ? definition.getExpression(name) && definition.getLiteral(name)
      : options && readProperty(evaluator, options, name);
    if (literal === undefined) continue;
    needs[name] = literal.kind === "known" ? literal.value : undefined;
    if (name === "optional" && literal.kind === "unknown") {
      find(literal.node, "optional cannot be determined statically: use a literal value");
    }
  }
  return needs;
}

function getName(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  return (ts.isFunctionExpression(node) || ts.isArrowFunction(node))
    ? node.name?.getText()
    : undefined;
}
