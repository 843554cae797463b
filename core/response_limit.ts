import { UnexpectedError } from "../errors/http_errors.ts";
import { describeEvent } from "./event_span.ts";
import { getMethod, getSource } from "./http/api_event.ts";
import type { ApiEvent, ProxyResult } from "./http/lambda.ts";

/** What Lambda sends at most, as its error message says. Both kinds of API Gateway would take 10 MB. */
const LAMBDA_BYTES = 6_291_556;
/** What a load balancer takes (Elastic Load Balancing, "Use Lambda functions as targets", 1 MB of JSON). */
const LOAD_BALANCER_BYTES = 1_048_576;
/** A character in JSON, such as `\u0000`. */
const CHARACTER_BYTES = 6;
/** Status, headers and cookies. Gateways take less. */
const HEAD_BYTES = 65_536;

/**
 * Refuses a response that the platform would not send: the client would get an error of the gateway, and the log would
 * say that the request succeeded. Only large bodies are measured.
 *
 * @param event The request.
 * @param result The response, as Lambda gets it.
 * @returns The response.
 * @throws {UnexpectedError} If it is too large. The message names the route, the size and what to do, for the log.
 */
export function checkResponseSize(event: ApiEvent, result: ProxyResult): ProxyResult {
  const isLoadBalancer = getSource(event) === "alb";
  const limit = isLoadBalancer ? LOAD_BALANCER_BYTES : LAMBDA_BYTES;
  if (result.body.length * CHARACTER_BYTES + HEAD_BYTES < limit) return result;
  const bytes = new TextEncoder().encode(JSON.stringify(result)).length;
  if (bytes <= limit) return result;
  const { name, attributes } = describeEvent(event);
  throw new UnexpectedError(
    `The response to ${
      name ?? `${getMethod(event)} ${attributes["url.path"]}`
    } has ${bytes} bytes, and ${
      isLoadBalancer ? "a load balancer takes" : "Lambda sends"
    } at most ${limit}: return fewer rows at once (paginate), send it in parts (the option streaming, behind a REST API or ` +
      "a function URL), or store it in a bucket and return a presigned URL",
  );
}
