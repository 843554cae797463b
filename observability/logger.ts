import { describeError } from "./describe_error.ts";
import type { Invocation } from "./invocation.ts";
import { currentInvocation } from "./invocation_context.ts";
import { escapeControls, quote } from "./json_text.ts";
import { LOG_LEVELS, type LogLevel } from "./log_level.ts";
import { writeOutput } from "./output.ts";
import { redactDocument, redactValue } from "./redact.ts";
import { redactText } from "./redact_text.ts";
import { REDACTED, UNREADABLE } from "./redacted.ts";
import { isSensitiveKey } from "./sensitive_names.ts";
import { getSettings } from "./settings.ts";

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
  if (!isLevelEnabled(level)) return;
  const invocation = currentInvocation();
  const text = fields === undefined ? "" : renderFields(fields, invocation?.redact);
  const line = renderLine(invocation, level, message, text);
  if (invocation !== undefined) invocation.append(line);
  else writeOutput(line);
}

/** Renders a log line with its newline, of any level, with fields that {@link renderFields} has rendered. */
export function renderLine(
  invocation: Invocation | undefined,
  level: LogLevel,
  message: string,
  fields: string,
): string {
  const text = quote(redactText(String(message)));
  const timestamp = new Date().toISOString();
  return `{"level":"${level}","message":${text},"timestamp":"${timestamp}"${
    renderContext(invocation)
  }${fields}}\n`;
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
  if (typeof value === "string") return quote(redactDocument(value, redact));
  return toJson(redactValue(key === "error" ? describeError(value) : value, redact));
}

function toJson(value: unknown): string {
  return escapeControls(JSON.stringify(value) ?? "null");
}

/** Renders the fields that are the same in each line of an invocation. */
function renderContext(invocation: Invocation | undefined): string {
  const service = `,"service":${quote((invocation?.settings ?? getSettings()).service)}`;
  if (invocation === undefined) return service;
  const { functionName, requestId, coldStart, traceId, correlationId, fields } = invocation;
  return service + (functionName === undefined ? "" : `,"function_name":${quote(functionName)}`) +
    `,"function_request_id":${quote(requestId)},"cold_start":${coldStart}` +
    (traceId === undefined ? "" : `,"xray_trace_id":${quote(traceId)}`) +
    `,"correlation_id":${quote(correlationId)}${fields}`;
}
