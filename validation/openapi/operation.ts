import type { $ZodType, $ZodTypes } from "zod/v4/core";
import { isWithoutBody } from "../../core/http/proxy_result.ts";
import { KEY_HEADER_PATTERN } from "../../core/idempotency.ts";
import type { JsonSchema } from "./json_schema.ts";
import { getTitle, type SharedAnswers } from "./answers.ts";
import type { Components } from "./components.ts";
import type { SchemaIssue } from "./convert.ts";
import { type Field, getFields } from "./fields.ts";
import type { RegisteredOperation } from "./registry.ts";

/** What an operation's description is written into. */
export interface OperationContext {
  readonly components: Components;
  readonly answers: SharedAnswers;
  readonly onIssue?: (issue: SchemaIssue) => void;
}

/**
 * An operation object.
 *
 * @param method `get`
 * @param path `/notes/{noteId}`
 * @param operation What its handler declares.
 * @param operationId Its name, which no other operation has.
 * @param context What it shares with others.
 */
export function describeOperation(
  method: string,
  path: string,
  operation: RegisteredOperation,
  operationId: string,
  context: OperationContext,
): Record<string, unknown> {
  const { components } = context;
  const { openapi, schema } = operation;
  const { summary, description, tags, deprecated } = openapi;
  const parameters = getParameters(method, path, operation, operationId, context);
  return {
    operationId,
    summary: summary ?? `${method.toUpperCase()} ${path}`,
    ...(description && { description }),
    tags: tags === undefined ? [getTag(path)] : [...tags],
    ...(deprecated && { deprecated }),
    ...(parameters.length > 0 && { parameters }),
    ...(schema && {
      requestBody: {
        required: !isOptionalBody(schema),
        content: {
          [operation.bodyType ?? "application/json"]: operation.bodyType === undefined
            ? { schema: components.describe(schema, "input", `${operationId}Body`) }
            : describeForm(schema, `${operationId}Body`, components),
        },
      },
    }),
    security: getSecurity(operation),
    responses: getResponses(method, path, operation, operationId, context),
  };
}

/** Describes a form with files. Without `encoding`, generators join the values of a list with commas into one field. */
function describeForm(
  schema: $ZodType,
  fallback: string,
  components: Components,
): Record<string, unknown> {
  const lists = getFields(components.describeFields(schema, fallback, "input", true))
    ?.filter(({ schema: { type, items } }) =>
      type === "array" && (items as JsonSchema | undefined)?.contentEncoding !== "binary"
    ) ?? [];
  const encoding = lists.map(({ name }) => [name, { style: "form", explode: true }]);
  return {
    schema: components.describe(schema, "input", fallback, true),
    ...(encoding.length > 0 && { encoding: Object.fromEntries(encoding) }),
  };
}

/** Returns the group of an operation without tags: the first part of its path that is a name. */
export function getTag(path: string): string {
  const names = path.split("/").filter((part) => part !== "" && !part.startsWith("{"));
  return names.find((name) => !/^(?:api|v\d+)$/.test(name)) ?? names[0] ?? "default";
}

/** Checks for a body that can be left out. A transform at the start accepts anything: it says nothing. */
function isOptionalBody(schema: $ZodType): boolean {
  const { optin, def } = schema._zod as $ZodTypes["_zod"];
  return optin !== undefined && !(def.type === "pipe" && def.in._zod.def.type === "transform");
}

function jsonContent(schema: JsonSchema): Record<string, unknown> {
  return { "application/json": { schema } };
}

/** Checks for a method whose responses are compared with those that the client has. */
function isRead(method: string): boolean {
  return method === "get" || method === "head";
}

function describeCondition(name: string, description: string): Record<string, unknown> {
  return { name, in: "header", required: false, description, schema: { type: "string" } };
}

const ETAG = { description: "The version of the body", required: true, schema: { type: "string" } };
const IF_NONE_MATCH = describeCondition("If-None-Match", "The ETag that the client has");
const IF_MATCH = describeCondition("If-Match", "The ETag of the version that the client has read");

const RANGE = describeCondition("Range", "The bytes to send: bytes=0-1023");
const IF_RANGE = describeCondition(
  "If-Range",
  "The ETag or Last-Modified of the part that the client has: the whole body is sent if it has changed",
);
const BYTES = { "*/*": { schema: { type: "string", format: "binary" } } };
const ACCEPT_RANGES = {
  "Accept-Ranges": { required: false, schema: { type: "string", const: "bytes" } },
};
const CONTENT_RANGE = {
  "Content-Range": {
    description: "The bytes that were sent, and the size of the whole: bytes 0-1023/4096",
    required: true,
    schema: { type: "string" },
  },
};

function getParameters(
  method: string,
  path: string,
  { pathSchema, querySchema, headers, cookies, idempotency, openapi, etag, hasRanges }:
    RegisteredOperation,
  operationId: string,
  context: OperationContext,
): Record<string, unknown>[] {
  const { onIssue } = context;
  const read = (schema: $ZodType | undefined, what: string) =>
    readFields(schema, `${operationId}${what}`, `${what.toLowerCase()} parameters`, context);
  const describe = (schema: $ZodType | undefined, place: string, what: string) =>
    read(schema, what).map(({ name, isRequired, schema }) => ({
      name,
      in: place,
      required: isRequired,
      ...describeField(schema),
    }));

  // the sender of a webhook gets its whole address
  const isWebhook = openapi.webhook !== undefined;
  const inPath = isWebhook ? [] : read(pathSchema, "Path");
  const inHeaders = describe(headers, "header", "Header");
  const hasHeader = (each: string) => inHeaders.some(({ name }) => name === each);
  const hasKeyHeader = hasHeader("idempotency-key");
  const names = isWebhook ? [] : [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name);
  for (const { name } of inPath) {
    if (!names.includes(name)) {
      onIssue?.({
        schema: pathSchema!,
        path: name,
        message: `the route ${path} has no parameter {${name}}`,
      });
    }
  }
  return [
    // every parameter of a route must be described, also one without a schema
    ...names.map((name) => ({
      name,
      in: "path",
      required: true,
      ...describeField(inPath.find((field) => field.name === name)?.schema ?? { type: "string" }),
    })),
    ...describe(querySchema, "query", "Query"),
    ...inHeaders,
    ...(etag && isRead(method) && !hasHeader("if-none-match") ? [IF_NONE_MATCH] : []),
    ...(etag === "version" && !isRead(method) && !hasHeader("if-match") ? [IF_MATCH] : []),
    ...(hasRanges && method === "get" ? [RANGE, IF_RANGE] : []),
    ...(idempotency?.isHeader && !hasKeyHeader ? [describeKeyHeader(idempotency.isRequired)] : []),
    ...describe(cookies, "cookie", "Cookie"),
  ];
}

/** Returns the fields of a schema, and reports one that has none. */
function readFields(
  schema: $ZodType | undefined,
  fallback: string,
  what: string,
  { components, onIssue }: OperationContext,
  direction?: "output",
): Field[] {
  if (schema === undefined) return [];
  const fields = getFields(components.describeFields(schema, fallback, direction));
  if (fields === undefined) {
    onIssue?.({ schema, path: "", message: `${what} are fields: use z.object()` });
  }
  return fields ?? [];
}

function describeKeyHeader(required: boolean): Record<string, unknown> {
  return {
    name: "Idempotency-Key",
    in: "header",
    required,
    description:
      "Names the request, such as with a UUID. Sent again with the same key, it is executed " +
      "once, and answered with the same response and the header Idempotency-Replayed.",
    schema: { type: "string", pattern: KEY_HEADER_PATTERN },
  };
}

/** Moves a parameter's description and its deprecation beside its schema, where tools look for them. */
function describeField(schema: JsonSchema): Record<string, unknown> {
  const { description, deprecated, ...rest } = schema;
  return {
    ...(description !== undefined && { description }),
    ...(deprecated !== undefined && { deprecated }),
    schema: rest,
  };
}

function getSecurity(operation: RegisteredOperation): Record<string, string[]>[] {
  const { auth, isOptional, signatures = [] } = operation;
  switch (auth) {
    case "none":
      return signatures.map((header) => ({ [getSignatureScheme(header)]: [] }));
    case "authorizer-optional":
      return [{}, { authorizer: [] }];
    default:
      return [...(isOptional ? [{}] : []), { [auth]: [] }];
  }
}

/**
 * Returns the name of the security scheme of a signed webhook.
 *
 * @param header The header with the signature.
 */
export function getSignatureScheme(header: string): string {
  return `signature-${header.toLowerCase()}`;
}

function getResponses(
  method: string,
  path: string,
  operation: RegisteredOperation,
  operationId: string,
  context: OperationContext,
): Record<string, unknown> {
  const { components, answers } = context;
  const { openapi, schema, querySchema, pathSchema, headers, cookies } = operation;
  const { auth, isRestricted, idempotency, isRateLimited, hasErrorBody, openBodies } = operation;
  const descriptions = openapi.responses ?? {};
  const takesInput = [schema, querySchema, pathSchema, headers, cookies].some((each) =>
    each !== undefined
  );
  const all: Record<number, unknown> = {};
  const failures = [
    ...(takesInput || idempotency ? [400] : []),
    ...(auth === "none" ? [] : [401]),
    // a request with a session cookie must come from a trusted origin
    ...(isRestricted || auth === "session" ? [403] : []),
    ...(path.includes("{") ? [404] : []),
    ...(idempotency ? [409] : []),
    ...(operation.etag ? [412] : []),
    ...(schema ? [413, 415] : []),
    ...(idempotency ? [422] : []),
    ...(auth === "api-key" || isRateLimited ? [429] : []),
    500,
    // the database or another service cannot be reached; the deadline of the function
    503,
    504,
  ];
  for (const status of failures) {
    all[status] = answers.getError(status, undefined, hasErrorBody);
  }
  for (const [code, description] of Object.entries(descriptions)) {
    const status = Number(code);
    // a status without a description was found in the sources
    all[status] = status >= 400
      ? answers.getError(status, description || undefined, hasErrorBody)
      : { description: description || getTitle(status) };
  }
  const hasTag = operation.etag !== undefined && isRead(method);
  if (hasTag) all[304] = { description: getTitle(304) };
  const declared = listDeclared(operation);
  for (const [status, schemas] of declared) {
    const name = declared.length === 1 ? "Response" : `Response${status}`;
    const bodies = isWithoutBody(status) ? [] : [...new Set(schemas)]
      .map((each) => components.describe(each, "output", `${operationId}${name}`))
      .filter((body) => !("not" in body));
    const isOpen = openBodies?.has(status) && !isWithoutBody(status) &&
      (bodies.length === 0 || operation.responseSchema === undefined);
    const body = isOpen ? {} : joinBodies(bodies);
    const sent = readFields(
      operation.responseHeaders?.[status],
      `${operationId}Headers${status}`,
      "response headers",
      context,
      "output",
    ).map(({ name, isRequired, schema }) => [
      name,
      { required: isRequired, ...describeField(schema) },
    ]);
    if (hasTag && status === 200) sent.unshift(["ETag", ETAG]);
    const isRanged = operation.hasRanges && method === "get" && status === 200;
    const headers = { ...Object.fromEntries(sent), ...isRanged && ACCEPT_RANGES };
    const content = body ? jsonContent(body) : isRanged ? BYTES : undefined;
    all[status] = {
      description: descriptions[status] || getTitle(status),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(content && { content }),
    };
    if (!isRanged) continue;
    const part = { ...headers, ...CONTENT_RANGE };
    all[206] = { description: getTitle(206), headers: part, content: BYTES };
    all[416] = { description: "Range Not Satisfiable", headers: CONTENT_RANGE };
  }
  return all;
}

function joinBodies(bodies: readonly JsonSchema[]): JsonSchema | undefined {
  return bodies.length > 1 ? { anyOf: bodies } : bodies[0];
}

/**
 * Lists the responses that an operation declares or was found to give. `responseSchema` describes
 * those of success without a schema; its status is 200 unless another one is known.
 */
function listDeclared(
  { responses = {}, responseSchema, openapi }: RegisteredOperation,
): [status: number, schemas: readonly $ZodType[]][] {
  const known = Object.entries(responses).map(([status, schemas]) =>
    [Number(status), schemas] as const
  );
  const fallback = responseSchema === undefined ? [] : [responseSchema];
  const all = new Map(known.map(([status, schemas]) => [
    status,
    schemas.length === 0 && status < 300 ? fallback : schemas,
  ]));
  const { successStatus } = openapi;
  const isKnown = known.some(([status]) => status < 300);
  if (successStatus !== undefined || !isKnown) {
    const status = successStatus ?? 200;
    all.set(status, responseSchema === undefined ? all.get(status) ?? [] : fallback);
  }
  return [...all];
}
