import type { DescribedAuthRoute, DescribedAuthRoutes } from "../../auth/routes/describe_routes.ts";
import { getAnswerName } from "../../validation/openapi/answers.ts";
import { type OpenApiDocument, sortKeys } from "../../validation/openapi/document.ts";
import { type AuthFunction, type MountedRoute, mountRoutes } from "./auth_functions.ts";
import { completeResponses, correctTable } from "./auth_corrections.ts";
import { getAuthSchemaName, toJsonSchema } from "./auth_schemas.ts";
import type { OpenApiFinding } from "./schema_findings.ts";

type Json = Record<string, unknown>;

/** The body of error responses of better-auth's routes. */
const AUTH_ERROR = {
  description: "The body of an error of the auth routes",
  type: "object",
  properties: {
    message: { type: "string", description: "Text for the client" },
    code: {
      type: "string",
      description: "The condition, such as INVALID_EMAIL_OR_PASSWORD; most errors have one",
    },
  },
  required: ["message"],
} as const;

const ERROR_NAME = getAuthSchemaName("Error");
const ERROR = { $ref: `#/components/schemas/${ERROR_NAME}` };

/** The body of an error of OAuth 2.0 (RFC 6749, section 5.2). */
const OAUTH_ERROR = {
  type: "object",
  properties: { error: { type: "string" }, error_description: { type: "string" } },
  required: ["error"],
};

const SESSION_SCHEMES = ["session", "sessionCookie"] as const;

/** A document with the auth routes. */
export interface DocumentWithAuth {
  readonly document: OpenApiDocument;
  readonly findings: readonly OpenApiFinding[];
}

/**
 * Adds the routes of better-auth that the project's functions mount to the document. A function
 * with a file for the same route has priority.
 *
 * @param document The document of the other functions.
 * @param auth The routes of the configuration.
 * @returns A new document, and functions that serve no route.
 */
export function addAuthRoutes(
  document: OpenApiDocument,
  functions: readonly AuthFunction[],
  auth: DescribedAuthRoutes,
): DocumentWithAuth {
  const hasSecondFactors = auth.described.some(({ path }) => path.startsWith("/two-factor/"));
  const routes = auth.described.map((described) => {
    const route = { ...described, path: described.path.replace(/\{(\w+)\}/g, ":$1") };
    const responses = completeResponses(route, hasSecondFactors);
    return { ...route, operation: { ...route.operation, responses } };
  });
  const { mounted, unknown } = mountRoutes(functions, routes);
  const paths = structuredClone(document.paths);
  const shared = findSharedErrors(mounted.filter(({ mount }) => !mount.hasErrorBody));
  const found = new Set<string>();
  const tags = new Set((document.tags ?? []).map(({ name }) => name));
  const ids = new Set(
    Object.values(paths).flatMap(Object.values).map(({ operationId }) => operationId),
  );
  for (const each of mounted) {
    const item = paths[each.path] ??= {};
    const method = each.route.method.toLowerCase();
    if (method in item) continue;
    const operation = toOperation(each, ids, found, shared);
    for (const tag of operation.tags as string[]) tags.add(tag);
    item[method] = operation;
  }
  return {
    document: {
      ...document,
      tags: [...tags].sort().map((name) => ({ name })),
      paths: sortKeys(paths),
      components: addComponents(document.components, found, auth, shared),
    },
    findings: unknown.map(({ mount: { file, line }, message }) => ({ file, line, message })),
  };
}

function toOperation(
  { route, mount, path }: MountedRoute<DescribedAuthRoute>,
  ids: Set<unknown>,
  found: Set<string>,
  shared: SharedErrors,
): Json {
  const { tags, description, operationId, parameters, requestBody, responses } = toJsonSchema(
    route.operation,
    found,
  ) as Json;
  const id = getOperationId([operationId, route.name], route.method, path, ids);
  return {
    operationId: id,
    summary: getSummary(description) ?? `${route.method} ${path}`,
    tags: getTags(tags),
    ...description !== undefined && { description },
    security: [
      ...route.needsSession ? [] : [{}],
      ...SESSION_SCHEMES.map((name) => ({ [name]: [] })),
    ],
    ...Array.isArray(parameters) && parameters.length > 0 && { parameters },
    ...requestBody !== undefined && { requestBody },
    responses: toResponses(route.path, responses as Record<string, Json>, mount, shared),
  };
}

/** better-auth's tag of routes without a plugin is `Default`. */
function getTags(tags: unknown): string[] {
  return (tags as string[] ?? []).map((tag) => tag === "Default" ? "Auth" : tag);
}

/** Returns the first sentence of a description. */
export function getSummary(description: unknown): string | undefined {
  if (typeof description !== "string") return undefined;
  const [sentence] = description.trim().split(/(?<=[.!?])\s|\n/);
  return sentence.replace(/\.$/, "") || undefined;
}

function getOperationId(
  wishes: readonly unknown[],
  method: string,
  path: string,
  ids: Set<unknown>,
): string {
  const route = [method.toLowerCase(), ...path.split(/\W+/)].filter(Boolean).join("_");
  const id = wishes.find((wish): wish is string => typeof wish === "string" && !ids.has(wish)) ??
    route;
  ids.add(id);
  return id;
}

/** Replaces the bodies of errors by the real ones. */
function toResponses(
  path: string,
  responses: Record<string, Json>,
  { hasErrorBody }: AuthFunction,
  shared: SharedErrors,
): Json {
  const isOauth = /^\/(?:oauth2|device)(?:\/|$)/.test(path);
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const description = getDescription(status, response);
      if (!isError(status)) return [status, { ...response, description }];
      const component = shared.get(status);
      if (hasErrorBody) return [status, toError(description, {})];
      if (isOauth) return [status, toError(description, { anyOf: [ERROR, OAUTH_ERROR] })];
      if (component?.description !== description) return [status, toError(description, ERROR)];
      return [status, { $ref: `#/components/responses/${component.name}` }];
    }),
  );
}

function toError(description: string, schema: Json): Json {
  return { description, content: { "application/json": { schema } } };
}

function getDescription(status: string, { description }: Json): string {
  return typeof description === "string" ? description : `Status ${status}`;
}

function isError(status: string): boolean {
  return Number(status) >= 400;
}

/** The response of an error that operations share, by status. */
type SharedErrors = ReadonlyMap<string, { readonly name: string; readonly description: string }>;

/** Finds the most frequent description of each error status. */
function findSharedErrors(
  mounted: readonly MountedRoute<DescribedAuthRoute>[],
): SharedErrors {
  const counts = new Map<string, Map<string, number>>();
  for (const { route: { operation } } of mounted) {
    const responses = (operation as { responses: Record<string, Json> }).responses;
    for (const [status, response] of Object.entries(responses)) {
      if (!isError(status)) continue;
      const texts = counts.get(status) ?? new Map<string, number>();
      const description = getDescription(status, response);
      counts.set(status, texts.set(description, (texts.get(description) ?? 0) + 1));
    }
  }
  return new Map(
    [...counts].map(([status, texts]) => {
      const [[description]] = [...texts].sort(([, one], [, other]) => other - one);
      const name = getAuthSchemaName(getAnswerName(Number(status)));
      return [status, { name, description }];
    }),
  );
}

function addComponents(
  components: OpenApiDocument["components"],
  found: Set<string>,
  { schemas, sessionCookie }: DescribedAuthRoutes,
  shared: SharedErrors,
): OpenApiDocument["components"] {
  const added: Json = { [ERROR_NAME]: AUTH_ERROR };
  // a schema may refer to further ones, which are appended to the set
  for (const name of found) {
    added[getAuthSchemaName(name)] = correctTable(
      name,
      toJsonSchema(schemas[name] ?? {}, found) as Json,
    );
  }
  return {
    ...components,
    schemas: sortKeys({ ...components.schemas, ...added }) as typeof components.schemas,
    responses: sortKeys({
      ...components.responses,
      ...Object.fromEntries(
        [...shared.values()].map(({ name, description }) => [name, toError(description, ERROR)]),
      ),
    }),
    securitySchemes: {
      ...components.securitySchemes,
      session: {
        type: "http",
        scheme: "bearer",
        description: "A session token, as sign-in gives it",
      },
      sessionCookie: {
        type: "apiKey",
        in: "cookie",
        name: sessionCookie,
        description:
          "The session cookie of better-auth. Requests that change something must come " +
          "from a trusted origin",
      },
    },
  };
}
