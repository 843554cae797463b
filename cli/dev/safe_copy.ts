import { parseJson } from "../../core/http/parse_json.ts";
import { redactValue } from "../../observability/redact.ts";
import { redactText } from "../../observability/redact_text.ts";

/** Characters of a text that the page shows. */
const MAX_TEXT = 16_384;

/**
 * An event as the page may show it: credentials are taken out, long texts are cut. What is repeated later is the event
 * itself, which stays in the process.
 *
 * @param event The event.
 */
export function toSafeInput(event: unknown): unknown {
  if (typeof event !== "object" || event === null) return redactValue(event);
  const { httpMethod, headers, body, isBase64Encoded } = event as Record<string, unknown>;
  if (typeof httpMethod !== "string") return redactValue(event);
  const { path, queryStringParameters, pathParameters, requestContext } = event as Record<
    string,
    unknown
  >;
  const { authorizer } = (requestContext ?? {}) as Record<string, unknown>;
  return {
    method: httpMethod,
    path,
    ...(queryStringParameters ? { query: redactValue(queryStringParameters) } : {}),
    ...(pathParameters ? { pathParameters } : {}),
    ...(authorizer ? { authorizer: redactValue(authorizer) } : {}),
    headers: redactValue(headers),
    ...(body ? { body: safeBody(body, isBase64Encoded === true) } : {}),
  };
}

/**
 * A result as the page may show it.
 *
 * @param result What a function returned.
 */
export function toSafeOutput(result: unknown): unknown {
  if (typeof result !== "object" || result === null) {
    return result === undefined ? null : redactValue(result);
  }
  const { statusCode, headers, multiValueHeaders, body, isBase64Encoded } = result as Record<
    string,
    unknown
  >;
  if (typeof statusCode !== "number") return redactValue(result);
  return {
    statusCode,
    headers: redactValue({ ...(headers as object), ...(multiValueHeaders as object) }),
    ...(body ? { body: safeBody(body, isBase64Encoded === true) } : {}),
  };
}

function safeBody(body: unknown, isBase64: boolean): unknown {
  const text = String(body);
  if (isBase64) return `(${Math.floor(text.length * 3 / 4)} bytes)`;
  if (text.length > MAX_TEXT) return `${redactText(text.slice(0, MAX_TEXT))}…`;
  const parsed = parseJson(text);
  return "fault" in parsed ? redactText(text) : redactValue(parsed.value);
}
