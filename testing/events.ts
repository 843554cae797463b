import { Buffer } from "node:buffer";
import type {
  AlbEvent,
  AuthorizerContext,
  HttpApiEvent,
  RestApiEvent,
} from "../core/http/lambda.ts";
import { mapValues } from "../core/lists/map_values.ts";

/** A request, independent of the event source. */
export interface EventOptions {
  /**
   * The method.
   * @default "GET"
   */
  method?: string;
  /**
   * The path.
   * @default "/"
   */
  path?: string;
  /** The matched route, such as `/notes/{noteId}`. Defaults to the path. */
  resource?: string;
  /** Headers. A list repeats a header. */
  headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Decoded query parameters. A list repeats a parameter. */
  query?: Readonly<Record<string, string | readonly string[]>>;
  /** Values of the route's parameters. */
  pathParameters?: Readonly<Record<string, string>>;
  /** A string is sent unchanged, bytes as base64, other values as JSON with its media type. */
  body?: unknown;
  /** Context returned by the gateway's authorizer. */
  authorizer?: AuthorizerContext;
  /**
   * Request id of the gateway.
   * @default "gateway-request-id"
   */
  requestId?: string;
  /**
   * Address of the client.
   * @default "127.0.0.1"
   */
  sourceIp?: string;
  /**
   * Name of the stage.
   * @default "test", of HTTP APIs "$default"
   */
  stage?: string;
  /** True if the load balancer's target group sends multi-value headers and query parameters. */
  multiValue?: boolean;
}

type Values = Record<string, string[]>;

/**
 * Creates an event of a REST API (payload format 1.0).
 *
 * @param options The request.
 * @returns The event.
 *
 * @example
 * ```ts
 * import { createRestApiEvent } from "@trellis/fn/testing";
 *
 * const event = createRestApiEvent({ method: "POST", path: "/notes", body: { title: "milk" } });
 * console.log(event.headers["Content-Type"]); // application/json
 * ```
 */
export function createRestApiEvent(options: EventOptions = {}): RestApiEvent {
  const request = readOptions(options);
  const { path, headers, query, body, isBase64Encoded, authorizer } = request;
  const { requestId, stage = "test", sourceIp } = request;
  return {
    resource: request.resource,
    path,
    httpMethod: request.method,
    headers: getLast(headers),
    multiValueHeaders: headers,
    queryStringParameters: emptyAsNull(getLast(query)),
    multiValueQueryStringParameters: emptyAsNull(query),
    pathParameters: request.pathParameters ?? null,
    stageVariables: null,
    requestContext: {
      requestId,
      stage,
      identity: { sourceIp, userAgent: findUserAgent(headers) },
      ...(authorizer && { authorizer }),
    },
    body,
    isBase64Encoded,
  };
}

/**
 * Creates an event of an HTTP API (payload format 2.0).
 *
 * @param options The request.
 * @returns The event, with lower-case header names, separate cookies and joined repeated values.
 */
export function createHttpApiEvent(options: EventOptions = {}): HttpApiEvent {
  const request = readOptions(options);
  const { method, path, query, body, isBase64Encoded, pathParameters, authorizer } = request;
  const { requestId, stage = "$default", sourceIp } = request;
  const { cookie, ...headers } = toLowerNames(request.headers);
  return {
    version: "2.0",
    routeKey: `${method} ${request.resource}`,
    rawPath: path,
    rawQueryString: queryString(query),
    ...(cookie !== undefined && { cookies: cookie.join("; ").split("; ") }),
    headers: mapValues(headers, (values) => values.join(",")),
    ...(Object.keys(query).length > 0 && {
      queryStringParameters: mapValues(query, (values) => values.join(",")),
    }),
    ...(pathParameters && { pathParameters }),
    requestContext: {
      requestId,
      stage,
      http: { method, path, sourceIp },
      ...(authorizer && { authorizer: { lambda: authorizer } }),
    },
    ...(body !== null && { body }),
    isBase64Encoded,
  };
}

/**
 * Creates an event of a function URL: the event of an HTTP API with the route `$default`.
 *
 * @param options The request.
 * @returns The event.
 */
export function createFunctionUrlEvent(options: EventOptions = {}): HttpApiEvent {
  return { ...createHttpApiEvent(options), routeKey: "$default" };
}

/**
 * Creates an event of an Application Load Balancer.
 *
 * @param options The request. Set `multiValue` like the target group.
 * @returns The event, with encoded query parameters.
 */
export function createAlbEvent(options: EventOptions = {}): AlbEvent {
  const { method, path, body, isBase64Encoded, multiValue, ...request } = readOptions(options);
  const headers = toLowerNames(request.headers);
  const query = Object.fromEntries(
    Object.entries(request.query).map(([name, values]) => [encode(name), values.map(encode)]),
  );
  return {
    requestContext: {
      elb: {
        targetGroupArn:
          "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/test/0123456789abcdef",
      },
    },
    httpMethod: method,
    path,
    ...(multiValue
      ? { multiValueHeaders: headers, multiValueQueryStringParameters: query }
      : { headers: getLast(headers), queryStringParameters: getLast(query) }),
    body: body ?? "",
    isBase64Encoded,
  };
}

/** Adds what all event sources have in common. */
function readOptions(
  {
    method = "GET",
    path = "/",
    resource = path,
    requestId = "gateway-request-id",
    sourceIp = "127.0.0.1",
    ...options
  }: EventOptions,
) {
  const query = toValues(options.query);
  return {
    ...options,
    ...{ method, path, resource, requestId, sourceIp, query },
    ...readBodyOption(options),
  };
}

function findUserAgent(headers: Values): string | null {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === "user-agent");
  return name === undefined ? null : headers[name][0];
}

function readBodyOption(
  options: EventOptions,
): { body: string | null; isBase64Encoded: boolean; headers: Values } {
  const headers = toValues(options.headers);
  const { body } = options;
  if (body === undefined || body === null) return { body: null, isBase64Encoded: false, headers };
  if (typeof body === "string") return { body, isBase64Encoded: false, headers };
  if (body instanceof Uint8Array) {
    return { body: Buffer.from(body).toString("base64"), isBase64Encoded: true, headers };
  }
  if (!Object.keys(headers).some((name) => name.toLowerCase() === "content-type")) {
    headers["Content-Type"] = ["application/json"];
  }
  return { body: JSON.stringify(body), isBase64Encoded: false, headers };
}

function toValues(record: Readonly<Record<string, string | readonly string[]>> = {}): Values {
  return mapValues(record, (value) => typeof value === "string" ? [value] : [...value]);
}

function toLowerNames(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, all]) => [name.toLowerCase(), all]),
  );
}

function getLast(values: Values): Record<string, string> {
  return mapValues(values, (all) => all[all.length - 1]);
}

function emptyAsNull<T extends object>(values: T): T | null {
  return Object.keys(values).length === 0 ? null : values;
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("%20", "+");
}

function queryString(query: Values): string {
  return new URLSearchParams(
    Object.entries(query).flatMap(([name, values]) => values.map((value) => [name, value])),
  )
    .toString();
}
