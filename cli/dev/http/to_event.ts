import { Buffer } from "node:buffer";
import type { AuthorizerContext, RestApiEvent } from "../../../core/http/lambda.ts";

/** Parts of an event that the gateway determines. */
export interface EventParts {
  /** The route's path template. */
  resource: string;
  /** Values of the path parameters. */
  parameters: Record<string, string> | null;
  /** The complete body. */
  body: Buffer;
  /** The request id. */
  requestId: string;
  /** The context of the authorizer. */
  authorizer?: AuthorizerContext;
}

/** The part of a request that an event is built from, without the body. */
export interface RequestHead {
  readonly method?: string;
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remoteAddress?: string };
}

/**
 * Converts a request to an event of a REST API. A body that is not valid UTF-8 is encoded as
 * base64.
 *
 * @param url The parsed URL.
 * @param parts Values that the gateway determined.
 */
export function toRestApiEvent(request: RequestHead, url: URL, parts: EventParts): RestApiEvent {
  const headers: Record<string, string[]> = {};
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    add(headers, request.rawHeaders[i], request.rawHeaders[i + 1]);
  }
  const query: Record<string, string[]> = {};
  for (const [name, value] of url.searchParams) add(query, name, value);
  const text = parts.body.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(parts.body);
  return {
    resource: parts.resource,
    path: url.pathname,
    httpMethod: request.method ?? "GET",
    headers: getLast(headers),
    multiValueHeaders: headers,
    queryStringParameters: url.search.length > 1 ? getLast(query) : null,
    multiValueQueryStringParameters: url.search.length > 1 ? query : null,
    pathParameters: parts.parameters,
    stageVariables: null,
    requestContext: {
      requestId: parts.requestId,
      stage: "local",
      identity: {
        sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
        userAgent: getUserAgent(headers),
      },
      ...(parts.authorizer && { authorizer: parts.authorizer }),
    },
    body: parts.body.length === 0 ? null : isText ? text : parts.body.toString("base64"),
    isBase64Encoded: parts.body.length > 0 && !isText,
  };
}

/** Adds a value under any name, including `__proto__` and `constructor`. */
function add(values: Record<string, string[]>, name: string, value: string): void {
  if (Object.hasOwn(values, name)) values[name].push(value);
  else Object.defineProperty(values, name, { value: [value], enumerable: true });
}

function getUserAgent(headers: Record<string, string[]>): string | null {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === "user-agent");
  return name === undefined ? null : headers[name][0];
}

function getLast(values: Record<string, string[]>): Record<string, string> {
  const last: Record<string, string> = {};
  for (const name of Object.keys(values)) {
    Object.defineProperty(last, name, { value: values[name].at(-1), enumerable: true });
  }
  return last;
}
