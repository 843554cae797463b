import { getOptionalEnv } from "../env/get_env.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { LOG_LEVELS, parseLogLevel } from "../observability/log_level.ts";
import { renderFields } from "../observability/logger.ts";
import type { LambdaContext } from "./http/lambda.ts";
import { checkLoggingConfig, type LoggingConfig } from "./logging_config.ts";

/** Options of `withObservability`. */
export interface ObservabilityOptions<E = unknown, R = unknown> {
  /**
   * Name in metrics and spans.
   * @default the function's own name; spans of HTTP requests are named `GET /notes/{id}`
   */
  operationName?: string;
  /** Contents of log lines. */
  logging?: LoggingConfig;
  /**
   * Adds `Duration`, `Errors` and, for the first invocation, `ColdStart`, with the dimension `operationName`.
   * @default true
   */
  metrics?: boolean;
  /**
   * Starts a span for each invocation.
   * @default true
   */
  tracing?: boolean;
  /** Turns an error into a result. Without it the error is thrown to the platform. */
  respondToError?: (error: unknown, context: LambdaContext, event: E) => R;
}

/** The checked options of a handler, in the form that each invocation reads. */
export interface HandlerSettings {
  readonly operationName: string;
  /** True if the name is an option of the handler. */
  readonly isNamed: boolean;
  readonly tracing: boolean;
  readonly metrics: boolean;
  /** Severity from `logging.level`; `undefined` if the environment decides. */
  readonly level: number | undefined;
  readonly sampleRate: number;
  readonly logEvent: boolean;
  readonly logResult: boolean;
  readonly summary: boolean;
  /** More key names to redact, in lower case. */
  readonly redact: ReadonlySet<string> | undefined;
  /** Constant fields of each log line, serialised. */
  readonly fields: string;
}

/** CloudWatch limits the length of dimension values, and the name is one. */
const MAX_NAME_LENGTH = 1024;

/**
 * Checks the options of a handler and fills in the defaults.
 *
 * @param functionName The name of the handler function.
 * @param options The options.
 * @returns The settings.
 * @throws {ConfigurationError} If an option is invalid.
 */
export function readHandlerSettings(
  functionName: string,
  options: Omit<ObservabilityOptions, "respondToError">,
): HandlerSettings {
  const { logging = {}, tracing = true, metrics = true } = options;
  checkLoggingConfig(logging);
  const { logEvent = false, logResult = false, summary = true, sampleRate = 0 } = logging;
  const level = parseLogLevel(logging.level);
  const redact = logging.redact && new Set(logging.redact.map((name) => name.toLowerCase()));
  const operationName = checkOperationName(
    nameOperation(options.operationName, functionName),
  );
  return {
    operationName,
    isNamed: !!options.operationName,
    tracing,
    metrics,
    level: level && LOG_LEVELS[level],
    sampleRate,
    logEvent,
    logResult,
    summary,
    redact,
    fields: logging.fields === undefined ? "" : renderFields(logging.fields, redact),
  };
}

/**
 * Returns the name of an operation in metrics, spans and limits: the option, else the name of the user's function, else
 * that of the Lambda function.
 */
export function nameOperation(given: string | undefined, functionName: string): string {
  return given || functionName || getOptionalEnv("AWS_LAMBDA_FUNCTION_NAME") || "handler";
}

function checkOperationName(name: unknown): string {
  if (typeof name === "string" && name.trim() !== "" && name.length <= MAX_NAME_LENGTH) return name;
  throw new ConfigurationError(
    `operationName is ${
      String(name).slice(0, 80)
    }: it must be a string of 1 to ${MAX_NAME_LENGTH} characters`,
  );
}
