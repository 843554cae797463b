import { ERROR_CODES } from "../../errors/mod.ts";
import type { AuthMode } from "../authenticate.ts";
import { type JsonSchema, toJsonSchema } from "../json_schema.ts";
import { Components } from "./components.ts";
import type { RegisteredOperation } from "./registry.ts";

/** What a document says of itself. */
export interface OpenApiInfo {
  /** The API's name. */
  title: string;
  /** The API's version. */
  version: string;
  /** What the API is for, in CommonMark. */
  description?: string;
}

/** An operation at its place. */
export interface ApiRoute {
  /** `GET` */
  method: string;
  /** `/notes/{noteId}` */
  path: string;
  /** What its handler declares. */
  operation: RegisteredOperation;
}

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = {
  openapi: "3.1.0";
  info: OpenApiInfo;
  servers?: { url: string }[];
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, unknown> };
};

const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  required: ["message", "code", "requestId", "correlationId"],
  properties: {
    message: { type: "string" },
    code: { type: "string", enum: Object.keys(ERROR_CODES) },
    requestId: { type: "string" },
    correlationId: { type: "string" },
    errors: { type: "object", additionalProperties: { type: "array", items: { type: "string" } } },
  },
};

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer" },
  session: { type: "http", scheme: "bearer", description: "A session token, as sign-in gives it" },
  authorizer: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "Checked by the gateway's authorizer",
  },
} as const;

/**
 * One OpenAPI 3.1 document for functions that are deployed one by one.
 *
 * @param info Name and version.
 * @param routes The operations and where they are.
 * @param servers Base addresses.
 * @returns A plain object, the same for the same input.
 * @throws {TypeError} When two operations have the same method and path, or the same `operationId`.
 */
export function buildOpenApiDocument(
  info: OpenApiInfo,
  routes: readonly ApiRoute[],
  servers?: readonly string[],
): OpenApiDocument {
  const paths: OpenApiDocument["paths"] = {};
  const components = new Components();
  components.schemas.Error = ERROR_SCHEMA;
  const ids = new Set<string>();
  for (const route of routes) {
    const item = paths[route.path] ??= {};
    const method = route.method.toLowerCase();
    if (method in item) throw new TypeError(`Two operations have the route ${route.method} ${route.path}`);
    item[method] = describeOperation(route, operationIdOf(route, ids), components);
  }
  return {
    openapi: "3.1.0",
    info,
    ...(servers && { servers: servers.map((url) => ({ url })) }),
    paths,
    components: { schemas: components.schemas, securitySchemes: SECURITY_SCHEMES },
  };
}

/** A document's ids are unique. Functions without a name share one, so theirs is made of the route. */
function operationIdOf({ method, path, operation }: ApiRoute, ids: Set<string>): string {
  const { operationId } = operation.openapi;
  if (operationId !== undefined && ids.has(operationId)) {
    throw new TypeError(`Two operations have the operationId ${operationId}, the second at ${method} ${path}`);
  }
  const route = [method.toLowerCase(), ...path.split(/\W+/)].filter(Boolean).join("_");
  const id = operationId ?? (ids.has(operation.operationName) ? route : operation.operationName);
  ids.add(id);
  return id;
}

function describeOperation(
  { path, operation }: ApiRoute,
  operationId: string,
  components: Components,
): Record<string, unknown> {
  const { openapi, schema, querySchema, pathSchema, responseSchema, auth } = operation;
  const { successStatus = 200, summary, description, tags, deprecated } = openapi;
  const takesInput = schema !== undefined || querySchema !== undefined || pathSchema !== undefined;

  function describe(part: Schema, name: string, io: "input" | "output" = "input"): JsonSchema {
    // a document says its JSON Schema version once, for all
    const { $schema: _, ...converted } = toJsonSchema(part, { io });
    return components.adopt(converted, operationId + name);
  }
  function describeFields(part: Schema | undefined, name: string): JsonSchema | undefined {
    return part && components.resolve(describe(part, name));
  }

  const parameters = [
    ...parametersOf("path", withRouteParameters(path, describeFields(pathSchema, "Path"))),
    ...parametersOf("query", describeFields(querySchema, "Query")),
  ];
  const failures = [
    ...(takesInput ? [400] : []),
    ...(auth === "none" ? [] : [401]),
    ...(path.includes("{") ? [404] : []),
    ...(schema ? [413, 415] : []),
    500,
  ];
  return {
    operationId,
    ...(summary && { summary }),
    ...(description && { description }),
    ...(tags && { tags: [...tags] }),
    ...(deprecated && { deprecated }),
    ...(parameters.length > 0 && { parameters }),
    ...(schema && { requestBody: { required: true, content: jsonContent(describe(schema, "Body")) } }),
    security: securityOf(auth),
    responses: {
      [successStatus]: {
        description: "The answer",
        ...(responseSchema && { content: jsonContent(describe(responseSchema, "Response", "output")) }),
      },
      ...Object.fromEntries(failures.map((status) => [status, {
        description: Object.values(ERROR_CODES).find((code) => code.status === status)?.title,
        content: jsonContent({ $ref: "#/components/schemas/Error" }),
      }])),
    },
  };
}

type Schema = NonNullable<RegisteredOperation["schema"]>;

function jsonContent(schema: JsonSchema): Record<string, unknown> {
  return { "application/json": { schema } };
}

/** Every parameter of a route must be described, also one without a schema. */
function withRouteParameters(path: string, schema: JsonSchema | undefined): JsonSchema {
  const properties: Record<string, unknown> = {};
  for (const [, name] of path.matchAll(/\{([^{}+]+)\+?\}/g)) properties[name] = { type: "string" };
  return { properties: { ...properties, ...schema?.properties as object } };
}

function parametersOf(place: "path" | "query", schema: JsonSchema | undefined): Record<string, unknown>[] {
  const required = schema?.required as string[] | undefined;
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === "path" || required?.includes(name) === true,
    schema: property,
  }));
}

function securityOf(auth: AuthMode): Record<string, string[]>[] {
  switch (auth) {
    case "none":
      return [];
    case "authorizer-optional":
      return [{}, { authorizer: [] }];
    default:
      return [{ [auth]: [] }];
  }
}
