import { ConfigurationError } from "../errors/mod.ts";
import { type LogLevel, parseLogLevel } from "../observability/mod.ts";

/** How a handler logs. */
export interface LoggingConfig {
  /**
   * Lines below this level are left out.
   * @default LOG_LEVEL, else INFO
   */
  level?: LogLevel;
  /**
   * Whether the event is logged, redacted, at DEBUG.
   * @default false
   */
  logEvent?: boolean;
  /**
   * Whether what the handler returned is logged, redacted, at DEBUG.
   * @default false
   */
  logResult?: boolean;
  /**
   * Whether each invocation ends with one line at INFO that has its outcome and its duration. A failure is always logged.
   * @default true
   */
  summary?: boolean;
  /**
   * The share of invocations, 0 to 1, that log from DEBUG on.
   * @default 0
   */
  sampleRate?: number;
  /** Names of further keys whose values are redacted, in any case. */
  redact?: readonly string[];
  /** Constant fields of each line. */
  fields?: Readonly<Record<string, unknown>>;
}

const KEYS: ReadonlySet<string> = new Set([
  "level",
  "logEvent",
  "logResult",
  "summary",
  "sampleRate",
  "redact",
  "fields",
]);

/**
 * Refuses a configuration that cannot be meant.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkLoggingConfig(config: LoggingConfig): void {
  if (typeof config !== "object" || config === null) {
    throw new ConfigurationError(`logging is ${config}: it must be an object of options`);
  }
  for (const key of Object.keys(config)) {
    if (!KEYS.has(key)) throw new ConfigurationError(`logging has no option ${key}: it has ${[...KEYS].join(", ")}`);
  }
  const { level, sampleRate, redact, fields } = config;
  if (level !== undefined && parseLogLevel(level) === undefined) {
    throw new ConfigurationError(
      `logging.level is ${level}: it must be TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL or SILENT`,
    );
  }
  if (sampleRate !== undefined && !(typeof sampleRate === "number" && sampleRate >= 0 && sampleRate <= 1)) {
    throw new ConfigurationError(`logging.sampleRate is ${sampleRate}: it must be a share from 0 to 1`);
  }
  for (const name of ["logEvent", "logResult", "summary"] as const) {
    const value = config[name];
    if (value !== undefined && typeof value !== "boolean") {
      throw new ConfigurationError(`logging.${name} is ${value}: it must be true or false`);
    }
  }
  if (redact !== undefined && !(Array.isArray(redact) && redact.every((name) => typeof name === "string"))) {
    throw new ConfigurationError(`logging.redact is ${redact}: it must be a list of key names`);
  }
  if (fields !== undefined && (typeof fields !== "object" || fields === null)) {
    throw new ConfigurationError(`logging.fields is ${fields}: it must be an object`);
  }
}
