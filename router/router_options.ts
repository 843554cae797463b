import { type CorsOption, isCorsOption } from "../core/http/cors.ts";
import type { ErrorBodyFormat } from "../core/http/error_response.ts";
import { FUNCTION_RULES } from "../core/function_options.ts";
import {
  isSecurityHeadersOption,
  type SecurityHeadersOption,
} from "../core/http/security_headers.ts";
import { checkLoggingConfig, type LoggingConfig } from "../core/logging_config.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  type OptionRules,
} from "../core/option_rules.ts";

/** Options of `defineRouter`. */
export interface RouterOptions {
  /**
   * Name of requests without a route, in metrics and spans.
   * @default "router"
   */
  operationName?: string;
  /** How requests without a route are logged. */
  logging?: LoggingConfig;
  /**
   * Whether requests without a route are counted in the metrics.
   * @default true
   */
  metrics?: boolean;
  /**
   * Whether requests without a route have a span.
   * @default true
   */
  tracing?: boolean;
  /**
   * Origins that may read the responses to unknown routes. The handlers have their own option.
   * @default CORS_ALLOW_ORIGIN
   */
  cors?: CorsOption;
  /** Changes the security headers of the responses to unknown routes. */
  securityHeaders?: SecurityHeadersOption;
  /**
   * Gives the body of 404 and 405 another form.
   * @default the documented body
   */
  errorBody?: ErrorBodyFormat;
  /** The function's timeout in seconds, 1 to 900, for the infrastructure generator. */
  timeout?: number;
  /** The function's memory in MB, 128 to 10240, for the infrastructure generator. */
  memorySize?: number;
  /** Reserved concurrent executions, for the infrastructure generator. */
  reservedConcurrency?: number;
  /** Temporary storage in MB, 512 to 10240, for the infrastructure generator. */
  ephemeralStorage?: number;
}

const RULES: OptionRules = {
  operationName: ANY_OPTION,
  logging: ANY_OPTION,
  metrics: BOOLEAN_OPTION,
  tracing: BOOLEAN_OPTION,
  cors: [isCorsOption, '"*", an origin such as "https://example.com", a list of them, or false'],
  securityHeaders: [
    isSecurityHeadersOption,
    "false, or values by name",
  ],
  errorBody: FUNCTION_OPTION,
  timeout: FUNCTION_RULES.timeout,
  memorySize: FUNCTION_RULES.memorySize,
  reservedConcurrency: FUNCTION_RULES.reservedConcurrency,
  ephemeralStorage: FUNCTION_RULES.ephemeralStorage,
};

/**
 * Checks the options of a router.
 *
 * @throws {ConfigurationError} If an option is unknown or invalid. Names the option and the value.
 */
export function checkRouterOptions(options: RouterOptions): void {
  checkOptions("defineRouter", options, RULES);
  if (options.logging !== undefined) checkLoggingConfig(options.logging);
}
