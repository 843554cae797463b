import { createEvaluator } from "../analysis/evaluate.ts";
import { type HandlerDefinition, readHandlerDefinition } from "../analysis/handler_definition.ts";
import { createLiteralReader, type LiteralReader } from "../analysis/literals.ts";
import { openProject, type Project } from "../analysis/project.ts";
import { createStatusReader } from "../analysis/reachable_statuses.ts";
import { findDeclaration } from "../analysis/scopes.ts";
import { createSlicer } from "../analysis/schema_slice.ts";
import type { Slice, SourcePlace } from "../analysis/slice.ts";
import { ts, unwrap } from "../analysis/typescript.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { ROUTE_METHODS } from "../discovery/route_files.ts";
import type { AuthMode } from "../../validation/authenticate.ts";
import type { OpenApiMetadata } from "../../validation/openapi/registry.ts";
import { checkMetadata } from "./check_metadata.ts";

/** The options that are schemas. */
export const SCHEMA_OPTIONS = ["schema", "querySchema", "pathSchema", "responseSchema"] as const;

/** An option that is a schema. */
export type SchemaOption = typeof SCHEMA_OPTIONS[number];

/** Something that the text does not tell, or that a document cannot say. */
export interface OpenApiFinding extends SourcePlace {
  readonly message: string;
}

/** A schema where a handler names it. */
export interface SchemaUse extends SourcePlace {
  /** Its unit in the slice. */
  readonly unit: number;
}

/** What a file says of its operation. */
export interface SourceOperation extends SourcePlace {
  readonly fn: FunctionFile;
  /** The name of the handler's function, where it has one. */
  readonly functionName?: string;
  readonly operationName?: string;
  readonly auth: AuthMode;
  readonly openapi: OpenApiMetadata;
  readonly schemas: Readonly<Partial<Record<SchemaOption, SchemaUse>>>;
  /** Statuses from 400 on that the handler's code can end with. */
  readonly statuses: readonly number[];
}

/** What the sources say. */
export interface SourceOperations {
  readonly operations: readonly SourceOperation[];
  /** All schemas with what they need. */
  readonly slice: Slice;
  readonly findings: readonly OpenApiFinding[];
  /** Files whose handler is not made by `defineApiHandler`: they describe nothing. */
  readonly undescribed: readonly SourcePlace[];
}

const AUTH_MODES: readonly unknown[] = [
  "none",
  "bearer",
  "authorizer",
  "authorizer-optional",
  "session",
] satisfies AuthMode[];

/**
 * Reads the operations of HTTP functions from their files. Nothing is run.
 *
 * @param root Absolute path of the project.
 * @param files The functions; those of other kinds than `api` are passed over.
 * @param onProgress Hears how many files were read.
 * @returns The operations, by path and method.
 */
export async function readOperations(
  root: string,
  files: readonly FunctionFile[],
  onProgress: (done: number, total: number) => void = () => {},
): Promise<SourceOperations> {
  const project = openProject(root);
  const evaluator = createEvaluator(project, new Map());
  const literals = createLiteralReader(project);
  const slicer = createSlicer(project);
  const getStatuses = createStatusReader(project);
  const operations: SourceOperation[] = [];
  const findings: OpenApiFinding[] = [];
  const undescribed: SourcePlace[] = [];
  const routes = files.filter(({ kind }) => kind === "api").sort(byRoute);

  for (const [index, fn] of routes.entries()) {
    if (index % BATCH === 0) {
      onProgress(index, routes.length);
      // signals are heard
      await new Promise((resolve) => setImmediate(resolve));
    }
    const definition = readHandlerDefinition(project, evaluator, fn.file);
    const find = (node: ts.Node, message: string) => {
      findings.push({ file: project.getPath(node), line: project.getLine(node), message });
    };
    for (const { node, message } of definition.unresolved) find(node, message);
    if (definition.definer === "defineApiHandler") {
      operations.push(
        readOperation(fn, definition, { project, literals, slicer, getStatuses, find }),
      );
    } else if (definition.unresolved.length === 0) {
      undescribed.push({ file: project.getPath(definition.node), line: definition.line });
    }
  }
  return { operations, slice: slicer.finish(), findings, undescribed };
}

const BATCH = 50;

/** By path, then by method as readers expect them. */
function byRoute(one: FunctionFile, other: FunctionFile): number {
  if (one.path !== other.path) return one.path! < other.path! ? -1 : 1;
  const rank = ({ method }: FunctionFile) =>
    (ROUTE_METHODS as readonly string[]).indexOf(method!.toLowerCase());
  return rank(one) - rank(other);
}

interface ReadContext {
  readonly project: Project;
  readonly literals: LiteralReader;
  readonly slicer: ReturnType<typeof createSlicer>;
  readonly getStatuses: ReturnType<typeof createStatusReader>;
  readonly find: (node: ts.Node, message: string) => void;
}

function readOperation(
  fn: FunctionFile,
  definition: HandlerDefinition,
  { project, literals, slicer, getStatuses, find }: ReadContext,
): SourceOperation {
  function valueOf(option: string): unknown {
    const literal = definition.getLiteral(option);
    if (literal?.kind !== "unknown") return literal?.value;
    find(literal.node, `${option} cannot be told from the text: write it out`);
    return undefined;
  }

  const auth = valueOf("auth") ?? "none";
  if (!AUTH_MODES.includes(auth)) {
    find(definition.node, `auth is ${JSON.stringify(auth)}: it must be ${AUTH_MODES.join(", ")}`);
  }
  const openapi = valueOf("openapi") ?? {};
  const fault = checkMetadata(openapi);
  if (fault !== undefined) find(definition.node, fault);
  const operationName = valueOf("operationName");
  const schemas: Partial<Record<SchemaOption, SchemaUse>> = {};
  for (const option of SCHEMA_OPTIONS) {
    const expression = getSchema(definition, literals, option);
    if (expression === undefined) continue;
    const place = { file: project.getPath(expression), line: project.getLine(expression) };
    schemas[option] = { ...place, unit: slicer.add(expression) };
  }
  const handler = ts.isCallExpression(definition.node) ? definition.node.arguments[0] : undefined;
  return {
    fn,
    file: project.getPath(definition.node),
    line: definition.line,
    functionName: handler && getName(unwrap(handler)),
    operationName: typeof operationName === "string" ? operationName : undefined,
    auth: auth as AuthMode,
    openapi: fault === undefined ? openapi as OpenApiMetadata : {},
    schemas,
    statuses: handler === undefined ? [] : [...getStatuses(handler)].sort((a, b) => a - b),
  };
}

/** As it is written, so that a factory keeps its arguments; what a wrapper passes on, where it comes from. */
function getSchema(
  { options, getExpression }: HandlerDefinition,
  literals: LiteralReader,
  option: string,
): ts.Expression | undefined {
  const property = options && literals.getProperty({ node: options }, option);
  if (property === undefined || "unknown" in property) return getExpression(option);
  let holder: ts.Node | undefined = ts.isIdentifier(property.node)
    ? findDeclaration(property.node)
    : undefined;
  while (holder !== undefined && ts.isBindingElement(holder)) holder = holder.parent.parent;
  return holder !== undefined && ts.isParameter(holder) ? getExpression(option) : property.node;
}

function getName(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  return (ts.isFunctionExpression(node) || ts.isArrowFunction(node))
    ? node.name?.getText()
    : undefined;
}
