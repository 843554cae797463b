import { redactValue } from "../observability/redact.ts";
import { REDACTED } from "../observability/redacted.ts";
import { redactPaths } from "./redact_paths.ts";

/** The members of events and results that hold fields inside a text. */
interface Message {
  body?: unknown;
  isBase64Encoded?: unknown;
  rawQueryString?: unknown;
  pathParameters?: unknown;
}

/**
 * Prepares an event or a result for the log. Redaction goes by the names of keys, so bodies and
 * query strings become objects, and sensitive path parameters are replaced in every path of the event as well.
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
  return new Set(names.map((name) => String((parameters as Record<string, unknown>)[name])));
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
