import { getOptionalEnv } from "../env/get_env.ts";
import { LOG_LEVELS, parseLogLevel } from "./log_level.ts";

/** Settings of observability from the environment. */
export interface ObservabilitySettings {
  /** `SERVICE_NAME`, else `POWERTOOLS_SERVICE_NAME`, else the function's name. */
  readonly service: string;
  /** `METRICS_NAMESPACE`, else `POWERTOOLS_METRICS_NAMESPACE`. */
  readonly namespace: string;
  /** Lines below this severity are not logged: `LOG_LEVEL`, `POWERTOOLS_LOG_LEVEL`, else `AWS_LAMBDA_LOG_LEVEL`. */
  readonly level: number;
  /** An unknown level in a variable. */
  readonly unknownLevel: string | undefined;
  /** True if the package's own metrics have the dimension `service` only: `METRICS_DIMENSIONS` is `service`. */
  readonly metricsByService: boolean;
  /** True if metrics are turned off: `METRICS_DISABLED`, else `POWERTOOLS_METRICS_DISABLED`, is `true`. */
  readonly metricsDisabled: boolean;
  /** True if the summary carries the metrics, instead of separate lines: `METRICS_IN_SUMMARY` is `true`. */
  readonly metricsInSummary: boolean;
}

let kept: ObservabilitySettings | undefined;

/**
 * Returns the settings. They are read once in a Lambda sandbox, and each time elsewhere (tests, the local gateway).
 */
export function getSettings(): ObservabilitySettings {
  if (kept !== undefined) return kept;
  const fixed = getOptionalEnv("AWS_EXECUTION_ENV", "").startsWith("AWS_Lambda_");
  const asked = readSetting("LOG_LEVEL") ?? getOptionalEnv("AWS_LAMBDA_LOG_LEVEL");
  const level = parseLogLevel(asked);
  const settings: ObservabilitySettings = {
    service: readSetting("SERVICE_NAME") ??
      getOptionalEnv("AWS_LAMBDA_FUNCTION_NAME", "service_undefined"),
    namespace: readSetting("METRICS_NAMESPACE") ?? "Trellis",
    level: LOG_LEVELS[level ?? "INFO"],
    unknownLevel: level === undefined ? asked : undefined,
    metricsByService: getOptionalEnv("METRICS_DIMENSIONS") === "service",
    metricsDisabled: isTrue(readSetting("METRICS_DISABLED")),
    metricsInSummary: isTrue(readSetting("METRICS_IN_SUMMARY")),
  };
  if (fixed) kept = settings;
  return settings;
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && /^(?:true|1)$/i.test(value);
}

/** Reads a variable, or the one with the prefix of Powertools. */
function readSetting(name: string): string | undefined {
  return getOptionalEnv(name) ?? getOptionalEnv(`POWERTOOLS_${name}`);
}
