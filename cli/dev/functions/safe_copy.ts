import { parseJson } from "../../../core/http/parse_json.ts";
import { redactValue } from "../../../observability/redact.ts";
import { redactText } from "../../../observability/redact_text.ts";

/** Maximum number of characters of a text on the page. */
const MAX_TEXT = 16_384;

/**
 * Returns a copy of an event for the page: credentials are redacted and long texts are cut. A
 * replay uses the original event, which stays in the process.
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
    path: redactValue(path),
    ...(queryStringParameters ? { query: redactValue(queryStringParameters) } : {}),
    ...(pathParameters ? { pathParameters: redactValue(pathParameters) } : {}),
    ...(authorizer ? { authorizer: redactValue(authorizer) } : {}),
    headers: redactValue(headers),
    ...(body ? { body: safeBody(body, isBase64Encoded === true) } : {}),
  };
}

/**
 * Returns a redacted copy of a result for the page.
 *
 * @param result The value that a function returned.
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
  return "error" in parsed ? redactText(text) : redactValue(parsed.value);
}
