import { describeError } from "./describe_error.ts";
import { currentInvocation, type Invocation } from "./invocation.ts";
import { LOG_LEVELS, type LogLevel } from "./log_level.ts";
import { writeOutput } from "./output.ts";
import { isSensitiveKey, redactDocument, REDACTED, redactText, redactValue, UNREADABLE } from "./redact.ts";
import { getSettings } from "./settings.ts";

/** Fields of one log line. An `error` may be any thrown value. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Names that every line has of its own; a field of the same name gets an underscore before it. */
const RESERVED: ReadonlySet<string> = new Set([
  "level",
  "message",
  "timestamp",
  "service",
  "function_name",
  "function_request_id",
  "cold_start",
  "xray_trace_id",
  "correlation_id",
]);

/**
 * Logs at DEBUG: shown when `LOG_LEVEL` is `DEBUG`, or for the sampled share of requests.
 *
 * @param message What happened, the same words each time.
 * @param fields What differs from time to time; secrets are taken out by key name.
 */
export function logDebug(message: string, fields?: LogFields | Error): void {
  log("DEBUG", message, fields);
}

/**
 * Logs at INFO.
 *
 * @param message What happened, the same words each time.
 * @param fields What differs from time to time; secrets are taken out by key name.
 *
 * @example
 * ```ts
 * import { logInfo, setLogOutput } from "@trellis/fn/observability";
 *
 * const restore = setLogOutput((line) => console.log(JSON.parse(line).password));
 * logInfo("note created", { noteId: "n1", password: "hunter2" }); // [REDACTED]
 * restore();
 * ```
 */
export function logInfo(message: string, fields?: LogFields | Error): void {
  log("INFO", message, fields);
}

/**
 * Logs at WARN.
 *
 * @param message What happened, the same words each time.
 * @param fields What differs from time to time, or what was thrown.
 */
export function logWarn(message: string, fields?: LogFields | Error): void {
  log("WARN", message, fields);
}

/**
 * Logs at ERROR.
 *
 * @param message What happened, the same words each time.
 * @param fields What differs from time to time, or what was thrown: `logError("charge failed", { error, orderId })`.
 */
export function logError(message: string, fields?: LogFields | Error): void {
  log("ERROR", message, fields);
}

/**
 * Logs one line of JSON. Inside an invocation it waits for the invocation's one write.
 *
 * @param level Severity.
 * @param message What happened.
 * @param fields What differs from time to time, or what was thrown.
 */
export function log(level: LogLevel, message: string, fields?: LogFields | Error): void {
  const invocation = currentInvocation();
  if (LOG_LEVELS[level] < (invocation?.level ?? getSettings().level)) return;
  const line = `{"level":"${level}","message":${quote(redactText(String(message)))},"timestamp":"${
    new Date().toISOString()
  }"${prefixOf(invocation)}${fields === undefined ? "" : renderFields(fields, invocation?.redact)}}\n`;
  if (invocation === undefined) writeOutput(line);
  else invocation.append(line);
}

/** Whether a line of this level would be shown here: to skip work that only a log line needs. */
export function isLevelEnabled(level: LogLevel): boolean {
  return LOG_LEVELS[level] >= (currentInvocation()?.level ?? getSettings().level);
}

/** Fields as they stand in a line: `,"noteId":"n1"`. It never throws: a log line must not break what it tells of. */
export function renderFields(fields: LogFields | Error, redact?: ReadonlySet<string>): string {
  try {
    if (fields instanceof Error) return `,"error":${toJson(redactValue(fields, redact))}`;
    let text = "";
    for (const key of Object.keys(fields)) {
      const value = readField(fields, key);
      if (value === undefined) continue;
      const name = RESERVED.has(key) ? `_${key}` : key;
      text += `,${quote(name)}:${renderField(key, value, redact)}`;
    }
    return text;
  } catch {
    return `,"fields":"${UNREADABLE}"`; // a proxy that throws
  }
}

function readField(fields: LogFields, key: string): unknown {
  try {
    return fields[key];
  } catch {
    return UNREADABLE; // a getter that throws
  }
}

function renderField(key: string, value: unknown, redact: ReadonlySet<string> | undefined): string {
  if (typeof value === "boolean" || value === null) return String(value);
  if (isSensitiveKey(key, redact)) return `"${REDACTED}"`;
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  if (typeof value === "string") return quote(redactDocument(value, redact));
  return toJson(redactValue(key === "error" ? describeError(value) : value, redact));
}

function toJson(value: unknown): string {
  return escapeControls(JSON.stringify(value) ?? "null");
}

/** The part of a line that is the same for a whole invocation, serialised once. */
function prefixOf(invocation: Invocation | undefined): string {
  if (invocation === undefined) return `,"service":${quote(getSettings().service)}`;
  return invocation.linePrefix ??= `,"service":${quote(invocation.settings.service)}` +
    (invocation.functionName === undefined ? "" : `,"function_name":${quote(invocation.functionName)}`) +
    `,"function_request_id":${quote(invocation.requestId)},"cold_start":${invocation.coldStart}` +
    (invocation.traceId === undefined ? "" : `,"xray_trace_id":${quote(invocation.traceId)}`) +
    `,"correlation_id":${quote(invocation.correlationId)}${invocation.fields}`;
}

const PLAIN = /^[\w .:=;/@+-]*$/;

/** A JSON string. Terminals act on control characters beyond those that JSON escapes, so they are escaped too. */
export function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : escapeControls(JSON.stringify(text));
}

function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
