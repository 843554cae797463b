import { currentInvocation } from "./invocation_context.ts";
import { logWarn } from "./logger.ts";
import { type MetricGroup, renderMetrics } from "./metric_lines.ts";
import { MetricUnit } from "./metric_unit.ts";
import { writeOutput } from "./output.ts";
import { getSettings } from "./settings.ts";

/** Limits of the embedded metric format (CloudWatch documentation, "Embedded metric format specification"). */
const MAX_DIMENSIONS = 30, MAX_NAME = 1024;
const MAX_DIMENSION_NAME = 250, MAX_DIMENSION_VALUE = 1024;

/** Members of every document. A metric of the same name would replace them. */
const RESERVED: ReadonlySet<string> = new Set(["_aws", "service"]);

/** One value of a metric. */
export type MetricDatum = readonly [name: string, unit: MetricUnit, value: number];

/**
 * Metrics for CloudWatch in its embedded metric format: log lines that become metrics, without a call. The metrics of an
 * invocation are written when it ends, in one line if their names and dimensions allow it. Outside an invocation each line is written at once.
 */
export interface Metrics {
  /**
   * Adds a value. A value that is not finite is omitted, with a warning.
   *
   * @param name At most 1,024 characters.
   * @param unit A unit of {@link MetricUnit}.
   * @param value The value.
   * @throws {TypeError} If the name or the unit is invalid, or a dimension has the name.
   */
  addMetric(name: string, unit: MetricUnit, value: number): void;
  /**
   * Adds a dimension to all metrics that this invocation adds with `addMetric`. CloudWatch charges each distinct value
   * as another metric, so do not use ids.
   *
   * @throws {RangeError} With the 30th dimension.
   * @throws {TypeError} If a name or a value is invalid, and outside an invocation.
   */
  addDimension(name: string, value: string): void;
  /** Adds several dimensions. */
  addDimensions(dimensions: Readonly<Record<string, string>>): void;
  /** Adds values with separate dimensions, without those of `addDimension`. */
  addMetricsWithDimensions(
    dimensions: Readonly<Record<string, string>>,
    data: readonly MetricDatum[],
  ): void;
}

/**
 * The metrics of the current invocation.
 *
 * @example
 * ```ts
 * import { metrics, MetricUnit, setLogOutput } from "@trellis/fn/observability";
 *
 * const restore = setLogOutput((line) => console.log(JSON.parse(line).NotesCreated));
 * metrics.addMetric("NotesCreated", MetricUnit.Count, 1); // 1
 * restore();
 * ```
 */
export const metrics: Metrics = {
  addMetric(name: string, unit: MetricUnit, value: number): void {
    add(currentInvocation()?.dimensions ?? {}, [[name, unit, value]]);
  },
  addDimension(name: string, value: string): void {
    metrics.addDimensions({ [name]: value });
  },
  addDimensions(dimensions: Readonly<Record<string, string>>): void {
    const invocation = currentInvocation();
    if (invocation === undefined) {
      throw new TypeError(
        "Dimensions belong to an invocation: outside of one use metrics.addMetricsWithDimensions",
      );
    }
    invocation.dimensions = checkDimensions({ ...invocation.dimensions, ...dimensions });
  },
  addMetricsWithDimensions(
    dimensions: Readonly<Record<string, string>>,
    data: readonly MetricDatum[],
  ): void {
    add(checkDimensions(dimensions), data);
  },
};

/**
 * Adds metrics of the package, without counts of 0: CloudWatch bills each metric that has a value, and an alarm takes a missing
 * one for 0.
 *
 * @param dimensions Dimensions besides `service`. With `METRICS_DIMENSIONS=service` they are fields of the line.
 * @param data The values.
 */
export function addOccurrences(
  dimensions: Readonly<Record<string, string>>,
  data: readonly MetricDatum[],
): void {
  const { metricsByService } = currentInvocation()?.settings ?? getSettings();
  const occurred = data.filter(([, unit, value]) => unit !== "Count" || value !== 0);
  if (metricsByService) add({}, occurred, dimensions);
  else metrics.addMetricsWithDimensions(dimensions, occurred);
}

const UNITS: ReadonlySet<string> = new Set(Object.values(MetricUnit));

/** Adds metrics to those of the running invocation, or writes them at once. */
function add(
  dimensions: Readonly<Record<string, string>>,
  data: readonly MetricDatum[],
  properties?: Readonly<Record<string, string>>,
): void {
  const invocation = currentInvocation();
  const groups = invocation === undefined || invocation.ended
    ? new Map<string, MetricGroup>()
    : invocation.metrics ??= new Map();
  const key = JSON.stringify(properties === undefined ? dimensions : [dimensions, properties]);
  let group = groups.get(key);
  if (group === undefined) groups.set(key, group = { dimensions, properties, metrics: [] });
  for (const datum of data) addTo(group, datum);
  if (groups !== invocation?.metrics) {
    writeOutput(renderMetrics(groups.values(), invocation?.settings ?? getSettings()));
  }
}

function addTo({ dimensions, metrics }: MetricGroup, [name, unit, value]: MetricDatum): void {
  checkMetric(name, unit, dimensions);
  if (!Number.isFinite(value)) {
    logWarn("metric value left out: it is not a finite number", {
      metric: name,
      value: String(value),
    });
    return;
  }
  const metric = metrics.find((each) => each.name === name && each.unit === unit);
  if (metric === undefined) metrics.push({ name, unit, values: [value] });
  else metric.values.push(value);
}

function checkMetric(
  name: string,
  unit: MetricUnit,
  dimensions: Readonly<Record<string, string>>,
): void {
  if (typeof name !== "string" || name.trim() === "" || name.length > MAX_NAME) {
    throw new TypeError(
      `A metric's name has 1 to ${MAX_NAME} characters, got ${JSON.stringify(name)?.slice(0, 80)}`,
    );
  }
  if (RESERVED.has(name) || Object.hasOwn(dimensions, name)) {
    throw new TypeError(
      `A metric's name must differ from _aws, service and its dimensions, got "${name}"`,
    );
  }
  if (!UNITS.has(unit)) throw new TypeError(`${unit} is no metric unit: take one of MetricUnit`);
}

function checkDimensions(dimensions: Record<string, string>): Record<string, string> {
  const names = Object.keys(dimensions);
  if (names.length >= MAX_DIMENSIONS) {
    throw new RangeError(
      `A metric has at most ${MAX_DIMENSIONS} dimensions with service, got ${names.length + 1}`,
    );
  }
  for (const name of names) {
    const value: unknown = dimensions[name];
    const fits = name.trim() !== "" && name.length <= MAX_DIMENSION_NAME && !RESERVED.has(name) &&
      typeof value === "string" && value.trim() !== "" && value.length <= MAX_DIMENSION_VALUE;
    if (fits) continue;
    throw new TypeError(
      `A metric's dimension has a name of 1 to ${MAX_DIMENSION_NAME} ` +
        `characters, neither _aws nor service, and a text ` +
        `of 1 to ${MAX_DIMENSION_VALUE}, got ${JSON.stringify(name).slice(0, 80)}: ${
          JSON.stringify(value)?.slice(0, 80)
        }`,
    );
  }
  return dimensions;
}
