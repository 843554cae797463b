import {
  type ApiRoute,
  buildOpenApiDocument,
  type OpenApiDocument,
  type OpenApiInfo,
  type OpenApiVersion,
} from "../../validation/openapi/document.ts";
import type { OpenApiMetadata, RegisteredOperation } from "../../validation/openapi/registry.ts";
import type { ConfiguredServer } from "../config/openapi.ts";
import { nameOperations } from "./operation_ids.ts";
import type { PackageLoader } from "./package_loader.ts";
import {
  type OpenApiFinding,
  SCHEMA_OPTIONS,
  type SourceOperation,
  type SourceOperations,
} from "./read_operations.ts";
import { runSlice, type SliceValues } from "./run_slice.ts";
import { type AnySchema, nameSchemas } from "./schema_names.ts";
import { SchemaValues } from "./schema_values.ts";

/** A document with its errors and warnings. */
export interface BuiltDocument {
  readonly document: OpenApiDocument;
  /** Errors: the document is incomplete or wrong. */
  readonly findings: readonly OpenApiFinding[];
  readonly warnings: readonly OpenApiFinding[];
}

/** Evaluates the schemas of a project's operations and builds the document. */
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
  { operations, additional, apiKeyHeader }: SourceOperations,
  info: OpenApiInfo,
  servers: readonly (string | ConfiguredServer)[] | undefined,
  values: SliceValues,
  version: OpenApiVersion,
): BuiltDocument {
  const schemas = new SchemaValues(values);
  const ids = nameOperations(operations, (finding) => schemas.find(finding));
  const routes = operations.map((operation) => toRoute(operation, ids.get(operation), schemas));
  const additionalSchemas = additional.map((use) => schemas.evaluate(use, use.label))
    .filter((schema) => schema !== undefined);
  const evaluated = values.evaluated();
  const { names, clashes } = nameSchemas(evaluated);
  const declarations = new Map(
    evaluated.filter(([unit]) => unit.isNamed).map(([unit, value]) => [value, unit]),
  );
  const document = buildOpenApiDocument(info, routes, servers, {
    version,
    apiKeyHeader,
    additionalSchemas,
    schemaNames: names,
    registries: getRegistries(values),
    onIssue: (issue) => schemas.findIssue(issue.schema, issue, declarations.get(issue.schema)),
  });
  const warnings = clashes.map(({ name, units }): OpenApiFinding => ({
    file: units[0].file,
    line: units[0].line,
    message: `${name} is exported by ${
      units.slice(1).map(({ file, line }) => `${file}:${line}`).join(", ")
    } too, so the component names contain the file name. Set .meta({ id: "…" }) on one of them`,
  }));
  return { document, findings: schemas.findings, warnings };
}

/** Evaluates the schemas of an operation. */
function toRoute(
  operation: SourceOperation,
  operationId: string | undefined,
  schemas: SchemaValues,
): ApiRoute {
  const { fn, openapi, successes, statuses, schemas: options } = operation;
  const described = Object.fromEntries(
    SCHEMA_OPTIONS.map((name) => [name, options[name] && schemas.evaluate(options[name], name)]),
  ) as Pick<RegisteredOperation, typeof SCHEMA_OPTIONS[number]>;
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
  for (const { status, hasBody, schema } of successes) {
    const value = schema &&
      (schema.isDeclared ? schemas.evaluate(schema, "responses") : schemas.tryValue(schema));
    responses[status] = [...responses[status] ?? [], ...value ? [value] : []];
    if (hasBody && value === undefined) openBodies.add(status);
  }
  const { auth, isRestricted, isOptional, isRateLimited, hasErrorBody } = operation;
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
      signatures: operation.signatures,
      openapi: metadata,
      idempotency: operation.idempotency,
      resources: {},
    },
  };
}

/** Returns all zod registries: the project may have its own copy of zod. */
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
