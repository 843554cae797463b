import {
  type ApiRoute,
  buildOpenApiDocument,
  type OpenApiDocument,
  type OpenApiInfo,
  type OpenApiVersion,
} from "../../validation/openapi/document.ts";
import type { OpenApiMetadata, RegisteredOperation } from "../../validation/openapi/registry.ts";
import type { SourceLocation } from "../analysis/slice.ts";
import type { ConfiguredServer } from "../config/openapi.ts";
import type { PackageLoader } from "./package_loader.ts";
import {
  type OpenApiFinding,
  SCHEMA_OPTIONS,
  type SchemaUse,
  type SourceOperation,
  type SourceOperations,
} from "./read_operations.ts";
import { runSlice, SliceError, type SliceValues } from "./run_slice.ts";
import { type AnySchema, isSchema, nameSchemas } from "./schema_names.ts";

/** A document with its errors and warnings. */
export interface BuiltDocument {
  readonly document: OpenApiDocument;
  /** Errors: the document is incomplete or wrong. */
  readonly findings: readonly OpenApiFinding[];
  readonly warnings: readonly OpenApiFinding[];
}

/**
 * Evaluates the schemas of a project's operations and builds the document.
 *
 * @param sources The operations.
 * @param info Title, version and description.
 * @param servers Servers.
 * @param load Loads packages.
 * @param version The version of OpenAPI.
 */
export function buildDocument(
  sources: SourceOperations,
  info: OpenApiInfo,
  servers: readonly (string | ConfiguredServer)[] | undefined,
  load: PackageLoader,
  version: OpenApiVersion = "3.1",
): Promise<BuiltDocument> {
  return runSlice(sources.slice, load, (values) => build(sources, info, servers, values, version));
}

function build(
  { operations, additional }: SourceOperations,
  info: OpenApiInfo,
  servers: readonly (string | ConfiguredServer)[] | undefined,
  values: SliceValues,
  version: OpenApiVersion,
): BuiltDocument {
  const findings = new Map<string, OpenApiFinding>();
  const uses = new Map<AnySchema, SchemaUse & { readonly option: string }>();
  const find = (finding: OpenApiFinding) => {
    findings.set(`${finding.file}\0${finding.line}\0${finding.message}`, finding);
  };

  function evaluate(use: SchemaUse, option: string): AnySchema | undefined {
    try {
      const value = values.getValue(use.unit);
      if (isSchema(value)) {
        if (!uses.has(value)) uses.set(value, { ...use, option });
        return value;
      }
      if (value !== undefined) {
        find({ ...getLocation(use), message: `${option} is not a zod 4 schema` });
      }
    } catch (error) {
      find(toFinding(error, use));
    }
    return undefined;
  }

  /** Returns a schema that a handler passes to a function; its body stays unknown if that fails. */
  function tryValue(use: SchemaUse): AnySchema | undefined {
    try {
      const value = values.getValue(use.unit);
      if (!isSchema(value)) return undefined;
      if (!uses.has(value)) uses.set(value, { ...use, option: "the response schema" });
      return value;
    } catch {
      return undefined;
    }
  }

  const ids = nameOperations(operations, find);
  const routes = operations.map((operation): ApiRoute => {
    const {
      fn,
      auth,
      isRestricted,
      isOptional,
      isRateLimited,
      hasErrorBody,
      signatures,
      openapi,
      idempotency,
      schemas,
      successes,
      statuses,
    } = operation;
    const described = Object.fromEntries(
      SCHEMA_OPTIONS.map((
        option,
      ) => [option, schemas[option] && evaluate(schemas[option], option)]),
    ) as Pick<RegisteredOperation, typeof SCHEMA_OPTIONS[number]>;
    const metadata: OpenApiMetadata = {
      ...openapi,
      operationId: ids.get(operation),
      responses: {
        ...Object.fromEntries(statuses.map((status) => [status, ""])),
        ...openapi.responses,
      },
    };
    const responses: Record<number, AnySchema[]> = {};
    const openBodies = new Set<number>();
    for (const { status, hasBody, schema } of successes) {
      const value = schema &&
        (schema.isDeclared ? evaluate(schema, "responses") : tryValue(schema));
      responses[status] = [...responses[status] ?? [], ...value ? [value] : []];
      if (hasBody && value === undefined) openBodies.add(status);
    }
    return {
      method: fn.method!,
      path: fn.path!,
      operation: {
        ...described,
        responses,
        openBodies,
        operationName: fn.name,
        auth,
        isRestricted,
        isOptional,
        isRateLimited,
        hasErrorBody,
        signatures,
        openapi: metadata,
        idempotency,
        resources: {},
      },
    };
  });

  const additionalSchemas = additional.map((use) => evaluate(use, use.label))
    .filter((schema) => schema !== undefined);
  const evaluated = values.evaluated();
  const { names, clashes } = nameSchemas(evaluated);
  const declarations = new Map(
    evaluated.filter(([unit]) => unit.isNamed).map(([unit, value]) => [value, unit]),
  );
  const document = buildOpenApiDocument(info, routes, servers, {
    version,
    additionalSchemas,
    schemaNames: names,
    registries: getRegistries(values),
    onIssue({ schema, path, message, cause }): void {
      const use = uses.get(schema)!;
      if (cause instanceof SliceError) return find(toFinding(cause, use));
      const declared = declarations.get(schema);
      const what = declared?.label ?? use.option;
      find({
        ...getLocation(declared ?? use),
        message: `${what}${path === "" ? "" : `, ${path}`}: ${message}`,
      });
    },
  });
  const warnings = clashes.map(({ name, units }): OpenApiFinding => ({
    file: units[0].file,
    line: units[0].line,
    message: `${name} is exported by ${
      units.slice(1).map(({ file, line }) => `${file}:${line}`).join(", ")
    } too, so the component names contain the file name. Set .meta({ id: "…" }) on one of them`,
  }));
  return { document, findings: [...findings.values()], warnings };
}

/**
 * Assigns operation ids: explicit ones, else the handler's function name if it is unique, else the
 * name of the function.
 */
function nameOperations(
  operations: readonly SourceOperation[],
  find: (finding: OpenApiFinding) => void,
): Map<SourceOperation, string> {
  const ownName = ({ operationName, functionName }: SourceOperation) =>
    operationName ?? functionName;
  const counts = new Map<string, number>();
  const count = (name: string | undefined) =>
    name !== undefined && counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const operation of operations) {
    count(operation.openapi.operationId ?? ownName(operation));
    count(operation.fn.name);
  }
  const ids = new Map<SourceOperation, string>();
  const owners = new Map<string, SourceOperation>();
  for (const operation of operations) {
    const { operationId } = operation.openapi;
    const own = ownName(operation);
    const isFree = own !== undefined &&
      (counts.get(own) === 1 || (counts.get(own) === 2 && own === operation.fn.name));
    const id = operationId ?? (isFree ? own : operation.fn.name);
    const other = owners.get(id);
    if (other !== undefined) {
      find({
        ...getLocation(operation),
        message:
          `two operations have the operationId ${id}; the other is in ${other.file}:${other.line}`,
      });
      ids.set(operation, `${id}_${operation.fn.name}`);
      continue;
    }
    owners.set(id, operation);
    ids.set(operation, id);
  }
  return ids;
}

/**
 * Returns all zod registries: the project may have its own copy of zod.
 *
 * @param values The values of a slice.
 */
export function getRegistries(
  values: SliceValues,
): { get(schema: AnySchema): object | undefined }[] {
  const registries = values.packages().map(({ globalRegistry }) => globalRegistry);
  return [...new Set(registries)].filter((
    each,
  ): each is { get(schema: AnySchema): object | undefined } =>
    typeof each === "object" && each !== null && "get" in each
  );
}

function getLocation({ file, line }: SourceLocation): SourceLocation {
  return { file, line };
}

function toFinding(error: unknown, use: SchemaUse): OpenApiFinding {
  return error instanceof SliceError
    ? { ...error.location, message: error.message }
    : { ...getLocation(use), message: error instanceof Error ? error.message : String(error) };
}
