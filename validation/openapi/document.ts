import type { $ZodType } from "zod/v4/core";
import type { JsonSchema } from "./json_schema.ts";
import { SharedAnswers } from "./answers.ts";
import { Components } from "./components.ts";
import type { SchemaIssue } from "./convert.ts";
import { describeOperation, getSignatureScheme, getTag } from "./operation.ts";
import type { RegisteredOperation } from "./registry.ts";

/** Description of the API. */
export interface OpenApiInfo {
  /** The API's name. */
  title: string;
  /** The API's version. */
  version: string;
  /** Purpose of the API, in CommonMark. */
  description?: string;
}

/** A base address of the API. */
export interface OpenApiServer {
  /** `https://api.example.com` */
  url: string;
  /** Description in CommonMark: `Production`. */
  description?: string;
}

/** An operation at its place. */
export interface ApiRoute {
  /** `GET`; `ANY` for all. */
  method: string;
  /** `/notes/{noteId}`; `{proxy+}` takes the rest of a path. */
  path: string;
  /** Declaration of its handler. */
  operation: RegisteredOperation;
}

/** More for a document. */
export interface OpenApiOptions {
  /**
   * Header of API keys.
   * @default "x-api-key"
   */
  apiKeyHeader?: string;
  /** Names of schemas without an `id`. Schemas without a name are written where they are used. */
  schemaNames?: ReadonlyMap<$ZodType, string>;
  /**
   * Named schemas that no operation uses, as components.
   * @default []
   */
  additionalSchemas?: readonly $ZodType[];
  /**
   * The version of OpenAPI. The documents differ in nothing else.
   * @default "3.1"
   */
  version?: OpenApiVersion;
  /**
   * Hears what cannot be described. Without it, what JSON cannot carry is described as `{}`, and two different schemas with
   * one id throw.
   */
  onIssue?: (issue: SchemaIssue) => void;
}

/** A version of OpenAPI. */
export type OpenApiVersion = "3.1" | "3.2";

/** An OpenAPI document. */
export type OpenApiDocument = {
  openapi: `${OpenApiVersion}.0`;
  info: OpenApiInfo;
  servers?: OpenApiServer[];
  tags?: { name: string }[];
  paths: Record<string, Record<string, unknown>>;
  webhooks?: Record<string, Record<string, unknown>>;
  components: {
    schemas: Record<string, JsonSchema>;
    responses: Record<string, unknown>;
    securitySchemes: Record<string, unknown>;
  };
};

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "A static token" },
  session: { type: "http", scheme: "bearer", description: "A session token, as sign-in gives it" },
  authorizer: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "Checked by the gateway's authorizer",
  },
  "api-key": { type: "apiKey", in: "header", name: "x-api-key", description: "An API key" },
  jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "A JSON Web Token" },
  "gateway-jwt": {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A JSON Web Token that the gateway's authorizer checks",
  },
} as const;

/** The methods that `ANY` is written as: a document names each method. */
const ANY = ["get", "post", "put", "patch", "delete"] as const;

/**
 * One OpenAPI document for functions that are deployed one by one.
 *
 * @param info Name and version.
 * @param routes The operations and where they are. Those with `openapi.hidden` are left out.
 * @param servers Base addresses. By default the host of the document.
 * @param options Names of schemas, and a callback for errors.
 * @returns A plain object, the same for the same input.
 * @throws {TypeError} When two operations have the same method and path, or the same `operationId`, or two schemas that are
 * not the same have one id.
 *
 * @example
 * ```ts
 * import { buildOpenApiDocument, defineApiHandler } from "@trellis/fn/validation";
 *
 * const { operation } = defineApiHandler({ openapi: { summary: "Whether the service answers" } })(function health() {
 *   return { statusCode: 200, body: "" };
 * });
 * const document = buildOpenApiDocument({ title: "Notes", version: "1.0.0" }, [{ method: "GET", path: "/health", operation }]);
 * console.log(Object.keys(document.paths)); // [ "/health" ]
 * ```
 */
export function buildOpenApiDocument(
  info: OpenApiInfo,
  routes: readonly ApiRoute[],
  servers: readonly (string | OpenApiServer)[] = ["/"],
  options: OpenApiOptions = {},
): OpenApiDocument {
  const paths: OpenApiDocument["paths"] = {};
  const webhooks: OpenApiDocument["paths"] = {};
  const components = new Components(options);
  const answers = new SharedAnswers(components);
  const ids = new Set<string>();
  const tags = new Set<string>();
  const shown = routes.filter(({ operation }) => !operation.openapi.hidden);
  // OpenAPI has no parameter that takes several segments: its name is what fits
  const getPath = (route: ApiRoute) => route.path.replaceAll("+}", "}");
  const getItem = (route: ApiRoute) => {
    const { webhook } = route.operation.openapi;
    return webhook === undefined ? paths[getPath(route)] ??= {} : webhooks[webhook] ??= {};
  };
  shown.forEach(getItem);
  // a route for the method takes precedence over ANY
  for (const route of [...shown.filter((route) => !isAny(route)), ...shown.filter(isAny)]) {
    const path = getPath(route);
    const item = getItem(route);
    const operationId = getOperationId(route, ids);
    for (const method of isAny(route) ? ANY : [route.method.toLowerCase()]) {
      if (method in item) {
        if (isAny(route)) continue;
        throw new TypeError(`Two operations have the route ${route.method} ${route.path}`);
      }
      const id = isAny(route) ? `${operationId}_${method}` : operationId;
      item[method] = describeOperation(method, path, route.operation, id, {
        components,
        answers,
        onIssue: options.onIssue,
      });
    }
    for (const tag of route.operation.openapi.tags ?? [getTag(path)]) tags.add(tag);
  }
  const schemes = new Set(shown.map(({ operation }) => operation.auth.replace(/-optional$/, "")));
  const additional = (options.additionalSchemas ?? []).map((schema, index) =>
    components.describe(schema, "output", `Additional${index + 1}`)
  );
  const draft = { paths, webhooks, responses: answers.responses, additional };
  const { document, schemas } = components.finish(draft);
  return {
    openapi: `${options.version ?? "3.1"}.0`,
    info,
    servers: servers.map((server) => typeof server === "string" ? { url: server } : { ...server }),
    ...(tags.size > 0 && { tags: [...tags].sort().map((name) => ({ name })) }),
    paths: document.paths,
    ...(Object.keys(webhooks).length > 0 && { webhooks: document.webhooks }),
    components: {
      schemas,
      responses: sortKeys(document.responses),
      securitySchemes: {
        ...Object.fromEntries(
          Object.entries(SECURITY_SCHEMES).filter(([name]) => schemes.has(name)),
        ),
        ...schemes.has("api-key") && {
          "api-key": {
            ...SECURITY_SCHEMES["api-key"],
            name: options.apiKeyHeader ?? SECURITY_SCHEMES["api-key"].name,
          },
        },
        ...describeSignatures(shown),
      },
    },
  };
}

function describeSignatures(routes: readonly ApiRoute[]): Record<string, unknown> {
  const headers = new Set(
    routes.flatMap(({ operation: { auth, signatures = [] } }) => auth === "none" ? signatures : []),
  );
  return Object.fromEntries(
    [...headers].sort().map((name) => [
      getSignatureScheme(name),
      { type: "apiKey", in: "header", name, description: "The sender's signature of the body" },
    ]),
  );
}

function isAny({ method }: ApiRoute): boolean {
  return method.toUpperCase() === "ANY";
}

/** Returns a copy with sorted keys, so that a document does not depend on the order of files. */
export function sortKeys<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1));
}

/** A document's ids are unique. Functions without a name share one, so theirs is made of the route. */
function getOperationId({ method, path, operation }: ApiRoute, ids: Set<string>): string {
  const { operationId } = operation.openapi;
  if (operationId !== undefined && ids.has(operationId)) {
    throw new TypeError(
      `Two operations have the operationId ${operationId}, the second at ${method} ${path}`,
    );
  }
  const route = [method.toLowerCase(), ...path.split(/\W+/)].filter(Boolean).join("_");
  const id = operationId ?? (ids.has(operation.operationName) ? route : operation.operationName);
  ids.add(id);
  return id;
}
