import { type LogLevel, parseLogLevel } from "../observability/log_level.ts";
import {
  BOOLEAN_OPTION,
  checkOption,
  checkOptions,
  OBJECT_OPTION,
  type OptionRules,
} from "./option_rules.ts";

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

const RULES: OptionRules = {
  level: [
    (value) => typeof value === "string" && parseLogLevel(value) !== undefined,
    "TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL or SILENT",
  ],
  logEvent: BOOLEAN_OPTION,
  logResult: BOOLEAN_OPTION,
  summary: BOOLEAN_OPTION,
  sampleRate: [
    (value) => typeof value === "number" && value >= 0 && value <= 1,
    "a share from 0 to 1",
  ],
  redact: [
    (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
    "a list of key names",
  ],
  fields: OBJECT_OPTION,
};

/**
 * Refuses a configuration that cannot be meant.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkLoggingConfig(config: LoggingConfig): void {
  checkOption("logging", config, OBJECT_OPTION);
  checkOptions("logging", config, RULES, "logging.");
}
