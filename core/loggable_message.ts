import { redactValue } from "../observability/redact.ts";
import { REDACTED } from "../observability/redacted.ts";
import { decodePercent } from "./http/percent_encoding.ts";

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

const MAX_DEPTH = 8;

/**
 * Replaces values of path parameters in all paths of an event: `rawPath`, ARNs, `Referer`.
 *
 * @param value An event, or a part of it.
 * @param secrets The values, with or without percent-encoding.
 * @returns A copy; a path in which something was replaced is no longer percent-encoded.
 */
export function redactPaths(value: unknown, secrets: ReadonlySet<string>, depth = 0): unknown {
  if (typeof value === "string") return value.includes("/") ? redactPath(value, secrets) : value;
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => redactPaths(item, secrets, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, redactPaths(item, secrets, depth + 1)]),
  );
}

function redactPath(path: string, secrets: ReadonlySet<string>): string {
  const plain = decodePercent(path);
  let safe = plain;
  for (const secret of secrets) {
    for (const form of new Set([secret, decodePercent(secret)])) safe = replaceSegments(safe, form);
  }
  return safe === plain ? path : safe;
}

/** Replaces whole segments, one or several: `b` of `/a/b/c`, but not of `/a/bc`. */
function replaceSegments(path: string, segments: string): string {
  if (segments === "") return path;
  return path.split(`/${segments}`)
    .reduce((before, after) =>
      before + (/^(?:[/?#"]|$)/.test(after) ? `/${REDACTED}` : `/${segments}`) + after
    );
}

/** Members of trigger events that hold a message as a text, which may hold another one. */
const MESSAGES: ReadonlySet<string> = new Set(["body", "Message"]);
const MAX_EVENT_DEPTH = 12;

/**
 * The event of a trigger as it may be handed to the logger. Redaction goes by the names of keys, so messages are taken
 * apart wherever they lie: as texts they would show every password.
 *
 * @param event Any event.
 * @returns A copy whose messages are objects where they can be read.
 */
export function toLoggableEvent(event: unknown): unknown {
  return open("", event, 0);
}

function open(key: string, value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    if (!MESSAGES.has(key)) return value;
    const { body } = toLoggable({ body: value }) as { body: unknown };
    return typeof body === "string" ? body : open("", body, depth + 1);
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_EVENT_DEPTH) return "[Truncated]";
  if (Array.isArray(value)) return value.map((item) => open("", item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, open(name, item, depth + 1)]),
  );
}
