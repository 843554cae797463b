import { describeError } from "./describe_error.ts";
import type { Invocation } from "./invocation.ts";
import { currentInvocation } from "./invocation_context.ts";
import { LOG_LEVELS, type LogLevel } from "./log_level.ts";
import { writeOutput } from "./output.ts";
import { isPlainText } from "./plain_text.ts";
import { redactDocument, redactValue } from "./redact.ts";
import { redactText } from "./redact_text.ts";
import { REDACTED, UNREADABLE } from "./redacted.ts";
import { isSensitiveKey } from "./sensitive_names.ts";
import { getSettings, type ObservabilitySettings } from "./settings.ts";

/** Fields of one log line. An `error` may be any thrown value. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Names of the standard fields. A field of the same name gets an underscore as a prefix. */
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
 * @param message A constant message.
 * @param fields Variable data. Secrets are redacted by key name.
 */
export function logDebug(message: string, fields?: LogFields | Error): void {
  log("DEBUG", message, fields);
}

/**
 * Logs at INFO.
 *
 * @param message A constant message.
 * @param fields Variable data. Secrets are redacted by key name.
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
 * @param message A constant message.
 * @param fields Variable data, or a thrown value.
 */
export function logWarn(message: string, fields?: LogFields | Error): void {
  log("WARN", message, fields);
}

/**
 * Logs at ERROR.
 *
 * @param message A constant message.
 * @param fields Variable data, or a thrown value: `logError("charge failed", { error, orderId })`.
 */
export function logError(message: string, fields?: LogFields | Error): void {
  log("ERROR", message, fields);
}

/**
 * Logs one line of JSON. The lines of an invocation are written together when it ends.
 *
 * @param level Severity.
 * @param message What happened.
 * @param fields Variable data, or a thrown value.
 */
export function log(level: LogLevel, message: string, fields?: LogFields | Error): void {
  const invocation = currentInvocation();
  const line = renderLine(invocation, level, message, fields);
  if (invocation !== undefined) invocation.append(line);
  else writeOutput(line);
}

/**
 * Renders a log line.
 *
 * @returns The line with its newline; empty if lines of this level are not logged.
 */
export function renderLine(
  invocation: Invocation | undefined,
  level: LogLevel,
  message: string,
  fields?: LogFields | Error,
): string {
  if (LOG_LEVELS[level] < (invocation?.level ?? getSettings().level)) return "";
  const text = fields === undefined ? "" : renderFields(fields, invocation?.redact);
  return renderLineWith(invocation, level, message, text);
}

/** Renders a log line of any level with fields that {@link renderFields} has rendered. */
export function renderLineWith(
  invocation: Invocation | undefined,
  level: LogLevel,
  message: string,
  fields: string,
): string {
  return `{"level":"${level}","message":${
    renderMessage(String(message))
  },"timestamp":"${timestamp()}"${getPrefix(invocation)}${fields}}\n`;
}

const messages: Map<string, string> = new Map();
const MAX_MESSAGES = 200, MAX_KEPT_LENGTH = 120;

/** Renders a message as JSON, without secrets. Messages are constant, so the result is cached. */
function renderMessage(message: string): string {
  let text = messages.get(message);
  if (text !== undefined) return text;
  text = quote(isPlainText(message) ? message : redactText(message));
  if (message.length <= MAX_KEPT_LENGTH) {
    if (messages.size >= MAX_MESSAGES) messages.clear(); // messages with ids would fill the cache
    messages.set(message, text);
  }
  return text;
}

let second = NaN;
let secondText = "";

/** Returns the time in ISO 8601. Only the milliseconds change between most lines. */
function timestamp(): string {
  const nowMs = Date.now();
  const ms = nowMs % 1000;
  if (nowMs - ms !== second) {
    second = nowMs - ms;
    secondText = toSecondText(new Date(second));
  }
  return `${secondText}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
}

/** Renders `2026-11-21T09:05:07.`. The first `toISOString()` of a process takes 0.2 ms. */
function toSecondText(date: Date): string {
  return `${date.getUTCFullYear()}-${twoDigits(date.getUTCMonth() + 1)}-${
    twoDigits(date.getUTCDate())
  }T${twoDigits(date.getUTCHours())}:${twoDigits(date.getUTCMinutes())}:${
    twoDigits(date.getUTCSeconds())
  }.`;
}

function twoDigits(n: number): string {
  return n < 10 ? `0${n}` : `${n}`;
}

/** Checks whether lines of a level are logged, to skip work that only a log line needs. */
export function isLevelEnabled(level: LogLevel): boolean {
  return LOG_LEVELS[level] >= (currentInvocation()?.level ?? getSettings().level);
}

/** Renders fields for a line: `,"noteId":"n1"`. Never throws, because logging must not fail a request. */
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
  if (typeof value === "string") {
    return quote(isPlainText(value) ? value : redactDocument(value, redact));
  }
  return toJson(redactValue(key === "error" ? describeError(value) : value, redact));
}

function toJson(value: unknown): string {
  return escapeControls(JSON.stringify(value) ?? "null");
}

/** Returns the part of a line that is constant in an invocation, serialised once. */
function getPrefix(invocation: Invocation | undefined): string {
  if (invocation === undefined) return getService(getSettings(), undefined);
  return invocation.linePrefix ??= getService(invocation.settings, invocation.functionName) +
    `,"function_request_id":${quote(invocation.requestId)},"cold_start":${invocation.coldStart}` +
    (invocation.traceId === undefined ? "" : `,"xray_trace_id":${quote(invocation.traceId)}`) +
    `,"correlation_id":${quote(invocation.correlationId)}${invocation.fields}`;
}

let servicePart:
  | { settings: ObservabilitySettings; functionName: string | undefined; text: string }
  | undefined;

/** Returns the part of a line that is constant in a sandbox. */
function getService(settings: ObservabilitySettings, functionName: string | undefined): string {
  if (servicePart?.settings !== settings || servicePart.functionName !== functionName) {
    const text = `,"service":${quote(settings.service)}` +
      (functionName === undefined ? "" : `,"function_name":${quote(functionName)}`);
    servicePart = { settings, functionName, text };
  }
  return servicePart.text;
}

const PLAIN = /^[\w .:=;/@+-]*$/;

/** Returns a JSON string in which control characters are escaped: terminals act on them. */
export function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : escapeControls(JSON.stringify(text));
}

/**
 * Escapes the control characters that JSON allows, and those that turn the direction of a text:
 * a terminal would show a line in another order than it was written.
 */
export function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
