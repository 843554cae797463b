import type { Invocation } from "./invocation.ts";
import { currentInvocation } from "./invocation_context.ts";
import { logWarn } from "./logger.ts";
import type { MetricGroup } from "./metric_group.ts";
import type { MetricUnit } from "./metric_unit.ts";
import { writeOutput } from "./output.ts";
import { renderMetricDocument } from "./metric_document.ts";
import { collectDocuments } from "./render_metrics.ts";
import { getMetricSettings } from "./settings.ts";

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
    const invocation = currentInvocation();
    const dimensions = invocation?.dimensions ?? NO_DIMENSIONS;
    if (invocation === undefined || invocation.ended) {
      writeAtOnce(invocation, dimensions, [[name, unit, value]]);
    } else addTo(groupFor(invocation, dimensions), name, unit, value);
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
    const invocation = currentInvocation();
    checkDimensions(dimensions);
    if (invocation === undefined || invocation.ended) {
      return writeAtOnce(invocation, dimensions, data);
    }
    const group = groupFor(invocation, dimensions);
    for (const [name, unit, value] of data) addTo(group, name, unit, value);
  },
};

/**
 * Creates a function like {@link Metrics.addMetricsWithDimensions} for fixed names, which are checked once.
 *
 * @param dimensions The dimension set.
 * @param names Names and units.
 * @returns Adds a value of each metric, in the order of the names.
 * @throws {TypeError} If a name or a unit is invalid.
 */
export function createMetricRecorder(
  dimensions: Readonly<Record<string, string>>,
  names: readonly (readonly [name: string, unit: MetricUnit])[],
): (...values: readonly number[]) => void {
  checkDimensions(dimensions);
  for (const [name, unit] of names) checkMetric(name, unit, dimensions);
  const key = JSON.stringify(dimensions);
  return function record(...values): void {
    const invocation = currentInvocation();
    const isRunning = invocation !== undefined && !invocation.ended;
    const group = isRunning
      ? groupFor(invocation, dimensions, key)
      : { dimensions, metrics: new Map() };
    for (let i = 0; i < names.length; i++) addValue(group, names[i][0], names[i][1], values[i]);
    if (!isRunning) writeGroup(invocation, group);
  };
}

const NO_DIMENSIONS: Readonly<Record<string, string>> = Object.freeze({});

/** {@link MetricUnit} as a pattern, so that its table is only in bundles of code that names it. */
const UNIT =
  /^(?:Seconds|(?:Micro|Milli)seconds|Percent|None|(?:Count|(?:B|(?:Kilo|Mega|Giga|Tera)b)(?:ytes|its))(?:\/Second)?)$/;
/** Known valid units: a look-up is faster than the pattern. */
const knownUnits: Set<unknown> = new Set(["Count", "Milliseconds", "None"]);

function isUnit(unit: unknown): boolean {
  if (knownUnits.has(unit)) return true;
  const known = typeof unit === "string" && UNIT.test(unit);
  if (known) knownUnits.add(unit);
  return known;
}

/** Returns the group of an invocation's metrics with these dimensions. */
function groupFor(
  invocation: Invocation,
  dimensions: Readonly<Record<string, string>>,
  key = dimensions === NO_DIMENSIONS ? "" : JSON.stringify(dimensions),
): MetricGroup {
  invocation.renderMetrics = renderAndClear;
  const groups = invocation.metrics ??= new Map();
  let group = groups.get(key);
  if (group === undefined) groups.set(key, group = { dimensions, metrics: new Map() });
  return group;
}

function addTo(group: MetricGroup, name: string, unit: MetricUnit, value: number): void {
  checkMetric(name, unit, group.dimensions);
  addValue(group, name, unit, value);
}

function addValue({ metrics }: MetricGroup, name: string, unit: MetricUnit, value: number): void {
  if (!Number.isFinite(value)) {
    logWarn("metric value left out: it is not a finite number", {
      metric: name,
      value: String(value),
    });
    return;
  }
  const metric = metrics.get(name);
  if (metric === undefined) metrics.set(name, { name, unit, values: [value] });
  else metric.values.push(value);
}

/** Writes metrics that belong to no running invocation. */
function writeAtOnce(
  invocation: Invocation | undefined,
  dimensions: Readonly<Record<string, string>>,
  data: readonly MetricDatum[],
): void {
  const group: MetricGroup = { dimensions, metrics: new Map() };
  for (const [name, unit, value] of data) addTo(group, name, unit, value);
  writeGroup(invocation, group);
}

function writeGroup(invocation: Invocation | undefined, group: MetricGroup): void {
  const settings = invocation?.settings ?? getMetricSettings();
  const documents = collectDocuments([group], settings);
  writeOutput(documents.map((document) => renderMetricDocument(settings, document)).join(""));
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
  if (!isUnit(unit)) throw new TypeError(`${unit} is no metric unit: take one of MetricUnit`);
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

function renderAndClear(invocation: Invocation): string {
  const { metrics, outcome, settings } = invocation;
  invocation.metrics = invocation.outcome = undefined;
  let text = "";
  for (const document of collectDocuments(metrics?.values() ?? [], settings, outcome)) {
    text += renderMetricDocument(settings, document, invocation);
  }
  return text;
}
