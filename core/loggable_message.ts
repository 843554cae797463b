/** The members of events and results that are texts made of fields. */
interface Message {
  body?: unknown;
  isBase64Encoded?: unknown;
  rawQueryString?: unknown;
}

/**
 * An event or a result as it may be handed to the logger. Redaction goes by the names of keys, so bodies and query
 * strings are taken apart: as texts they would show every password.
 *
 * @param message Any event or result.
 * @returns A copy whose body and query string are objects where they can be read.
 */
export function toLoggable(message: unknown): unknown {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return message;
  const { body, isBase64Encoded, rawQueryString } = message as Message;
  if (typeof body !== "string" && typeof rawQueryString !== "string") return message;
  const copy: Message = { ...message };
  if (typeof body === "string" && body !== "") {
    copy.body = isBase64Encoded ? `[${body.length} characters in base64]` : readText(body);
  }
  if (typeof rawQueryString === "string") copy.rawQueryString = readForm(rawQueryString);
  return copy;
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
