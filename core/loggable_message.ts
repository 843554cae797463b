import { redactValue } from "../observability/redact.ts";
import { REDACTED } from "../observability/redacted.ts";

/** The members of events and results that hold fields inside a text. */
interface Message {
  body?: unknown;
  isBase64Encoded?: unknown;
  rawQueryString?: unknown;
  pathParameters?: unknown;
  path?: unknown;
  rawPath?: unknown;
  resource?: unknown;
  requestContext?: unknown;
}

/**
 * Prepares an event or a result for the log. Redaction goes by the names of keys, so bodies and
 * query strings become objects, and sensitive path parameters are replaced in the path as well.
 *
 * @param message Any event or result.
 * @param more Further key names to redact, in lower case.
 * @returns A copy, or the message itself when it holds nothing of that kind.
 */
export function toLoggable(message: unknown, more?: ReadonlySet<string>): unknown {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return message;
  const { body, isBase64Encoded, rawQueryString, pathParameters } = message as Message;
  const copy: Message = { ...message };
  if (typeof body === "string" && body !== "") {
    copy.body = isBase64Encoded ? `[${body.length} characters in base64]` : readText(body);
  }
  if (typeof rawQueryString === "string") copy.rawQueryString = readForm(rawQueryString);
  const secrets = findSecrets(pathParameters, more);
  return secrets.size === 0 ? copy : redactPaths(copy, secrets);
}

/** Returns the values of the parameters whose names are sensitive. */
function findSecrets(parameters: unknown, more: ReadonlySet<string> | undefined): Set<string> {
  if (typeof parameters !== "object" || parameters === null) return new Set();
  const safe = redactValue(parameters, more) as Record<string, unknown>;
  const names = Object.keys(safe).filter((name) => safe[name] === REDACTED);
  return new Set(
    names.map((name) => decode(String((parameters as Record<string, unknown>)[name]))),
  );
}

function redactPaths(message: Message, secrets: ReadonlySet<string>): Message {
  const redact = (path: unknown) =>
    typeof path !== "string" ? path : path.split("/")
      .map((segment) => secrets.has(decode(segment)) ? REDACTED : segment).join("/");
  for (const key of ["path", "rawPath", "resource"] as const) {
    if (message[key] !== undefined) message[key] = redact(message[key]);
  }
  const { requestContext } = message;
  if (typeof requestContext !== "object" || requestContext === null) return message;
  const { path, http } = requestContext as { path?: unknown; http?: { path?: unknown } };
  const context: Record<string, unknown> = { ...requestContext };
  if (path !== undefined) context.path = redact(path);
  if (http?.path !== undefined) context.http = { ...http, path: redact(http.path) };
  return { ...message, requestContext: context };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // malformed escapes: the text as it was sent
  }
}

function readText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // neither JSON nor a form: nothing says which part of it may be shown
    return /^[^\s=&]+=/.test(text) ? readForm(text) : `[${text.length} characters]`;
  }
}

function readForm(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}
