import { toLoggable } from "../loggable_message.ts";

/** Members of trigger events that hold a message as a text, which may hold another one. */
const MESSAGES: ReadonlySet<string> = new Set(["body", "Message"]);
const MAX_DEPTH = 12;

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
  if (depth >= MAX_DEPTH) return "[Truncated]";
  if (Array.isArray(value)) return value.map((item) => open("", item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, open(name, item, depth + 1)]),
  );
}
