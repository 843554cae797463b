import { Buffer } from "node:buffer";
import { groupValues } from "../../core/lists/group_by.ts";
import type { AuthorizerContext, RestApiEvent } from "../../core/http/lambda.ts";
import { createRestApiEvent } from "../events.ts";

/** A request as it arrives at the gateway. */
export interface GatewayRequest {
  /** Method in upper case. */
  readonly method: string;
  /** The address; its host does not matter. */
  readonly url: URL;
  /** Names and values of the headers, as they were sent. */
  readonly headers: Iterable<readonly [name: string, value: string]>;
  /** Address of the client. */
  readonly sourceIp?: string;
  /**
   * Reads the complete body.
   *
   * @throws {PayloadTooLargeError} If it is larger than API Gateway accepts.
   */
  readonly readBody: () => Promise<Uint8Array>;
}

/** Parts of an event that the gateway determines. */
export interface EventParts {
  /** The route's path template. */
  readonly resource: string;
  /** Values of the path parameters. */
  readonly parameters: Record<string, string> | null;
  /** Name of the stage. */
  readonly stage: string;
  /** The context of the authorizer. */
  readonly authorizer?: AuthorizerContext;
}

/**
 * Converts a request to an event of a REST API. A body that is not valid UTF-8 is encoded as
 * base64.
 *
 * @param parts Values that the gateway determined.
 */
export async function toRestApiEvent(
  request: GatewayRequest,
  { resource, parameters, stage, authorizer }: EventParts,
): Promise<RestApiEvent> {
  const body = await request.readBody();
  const text = Buffer.from(body).toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(body);
  return createRestApiEvent({
    method: request.method,
    path: request.url.pathname,
    resource,
    // a name may be `__proto__` or `constructor`
    headers: Object.fromEntries(groupValues(request.headers)),
    query: Object.fromEntries(groupValues(request.url.searchParams)),
    pathParameters: parameters ?? undefined,
    body: body.length === 0 ? undefined : isText ? text : body,
    authorizer,
    requestId: crypto.randomUUID(),
    sourceIp: request.sourceIp,
    stage,
  });
}
