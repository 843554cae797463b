import { getOptionalEnv } from "../env/get_env.ts";
import { LOG_LEVELS, parseLogLevel } from "./log_level.ts";

/** What the environment says about observability. */
export interface ObservabilitySettings {
  /** `SERVICE_NAME`, else `POWERTOOLS_SERVICE_NAME`, else the function's name. */
  readonly service: string;
  /** `METRICS_NAMESPACE`, else `POWERTOOLS_METRICS_NAMESPACE`. */
  readonly namespace: string;
  /** Lines below this severity are left out: `LOG_LEVEL`, `POWERTOOLS_LOG_LEVEL`, else `AWS_LAMBDA_LOG_LEVEL`. */
  readonly level: number;
  /** A level that a variable asks for and that does not exist. */
  readonly unknownLevel: string | undefined;
  /** Whether metrics are left out: `METRICS_DISABLED`, else `POWERTOOLS_METRICS_DISABLED`, is `true`. */
  readonly metricsDisabled: boolean;
  /** Whether the environment stays as it is, as in a Lambda sandbox: what was read from it once may be kept. */
  readonly fixed: boolean;
  /**
   * Whether the application promises that its invocations never overlap, and that each awaits all of its work:
   * `TRELLIS_SEQUENTIAL_INVOCATIONS`. It has no effect where Lambda runs several invocations at once.
   */
  readonly singleConcurrency: boolean;
}

/** The settings that a metric needs which is written outside of an invocation. */
export type MetricSettings = Pick<
  ObservabilitySettings,
  "service" | "namespace" | "metricsDisabled"
>;

let kept: ObservabilitySettings | undefined;

/**
 * The settings. A Lambda sandbox never changes its environment, so there they are read once; elsewhere (tests, the
 * local gateway) they are read each time.
 */
export function getSettings(): ObservabilitySettings {
  if (kept !== undefined) return kept;
  const inLambda = isInLambda();
  const asked = readSetting("LOG_LEVEL") ?? getOptionalEnv("AWS_LAMBDA_LOG_LEVEL");
  const level = parseLogLevel(asked);
  const settings: ObservabilitySettings = {
    ...readMetricSettings(),
    level: LOG_LEVELS[level ?? "INFO"],
    unknownLevel: level === undefined ? asked : undefined,
    fixed: inLambda,
    singleConcurrency: isTrue(getOptionalEnv("TRELLIS_SEQUENTIAL_INVOCATIONS")) &&
      getOptionalEnv("AWS_LAMBDA_MAX_CONCURRENCY") === undefined,
  };
  if (inLambda) kept = settings;
  return settings;
}

/** Returns the settings of metrics alone: outside of Lambda each variable is read for each metric. */
export function getMetricSettings(): MetricSettings {
  return kept ?? (isInLambda() ? getSettings() : readMetricSettings());
}

function readMetricSettings(): MetricSettings {
  return {
    service: readSetting("SERVICE_NAME") ??
      getOptionalEnv("AWS_LAMBDA_FUNCTION_NAME", "service_undefined"),
    namespace: readSetting("METRICS_NAMESPACE") ?? "Trellis",
    metricsDisabled: isTrue(readSetting("METRICS_DISABLED")),
  };
}

function isInLambda(): boolean {
  return getOptionalEnv("AWS_EXECUTION_ENV", "").startsWith("AWS_Lambda_");
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && /^(?:true|1)$/i.test(value);
}

/** A variable of ours, else the one of the same name that Powertools reads. */
function readSetting(name: string): string | undefined {
  return getOptionalEnv(name) ?? getOptionalEnv(`POWERTOOLS_${name}`);
}
