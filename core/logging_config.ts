import { type LogLevel, parseLogLevel } from "../observability/log_level.ts";
import {
  BOOLEAN_OPTION,
  checkOption,
  checkOptions,
  OBJECT_OPTION,
  type OptionRules,
  protective,
} from "./option_rules.ts";

/** Logging options of a handler. */
export interface LoggingConfig {
  /**
   * Lines below this level are left out.
   * @default LOG_LEVEL, else INFO
   */
  level?: LogLevel;
  /**
   * Logs the event at DEBUG, redacted.
   * @default false
   */
  logEvent?: boolean;
  /**
   * Logs the result of the handler at DEBUG, redacted.
   * @default false
   */
  logResult?: boolean;
  /**
   * Logs the outcome and the duration of each invocation in one line at INFO. Failures are always logged.
   * @default true
   */
  summary?: boolean;
  /**
   * Fraction of invocations, 0 to 1, that log at DEBUG.
   * @default 0
   */
  sampleRate?: number;
  /** Names of more keys to redact, in any case. */
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
  redact: protective([
    (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
    "a list of key names",
  ]),
  fields: OBJECT_OPTION,
};

/**
 * Checks a configuration.
 *
 * @throws {ConfigurationError} If it is invalid. Names the option and the value.
 */
export function checkLoggingConfig(config: LoggingConfig): void {
  checkOption("logging", config, OBJECT_OPTION);
  checkOptions("logging", config, RULES, "logging.");
}
