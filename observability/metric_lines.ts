import { escapeControls } from "./json_text.ts";
import type { MetricUnit } from "./metric_unit.ts";
import type { ObservabilitySettings } from "./settings.ts";

/** The values of one metric. */
export interface Metric {
  readonly name: string;
  readonly unit: MetricUnit;
  readonly values: number[];
}

/** Metrics with the same dimensions. */
export interface MetricGroup {
  /** Dimensions besides `service`. */
  readonly dimensions: Readonly<Record<string, string>>;
  /** Metrics by name and unit. */
  readonly metrics: Map<string, Metric>;
}

/** A line in CloudWatch's embedded metric format, before it is rendered. */
interface MetricDocument {
  /** Entries of `_aws.CloudWatchMetrics`. */
  readonly directives: object[];
  /** Values of dimensions and metrics. */
  readonly members: Map<string, string | number | readonly number[]>;
  /** Number of metrics. */
  size: number;
}

/** Limits of the embedded metric format (CloudWatch documentation, "Embedded metric format specification"). */
const MAX_METRICS = 100, MAX_VALUES = 100;

/**
 * Renders metrics as lines in CloudWatch's embedded metric format. Groups share a line where the format allows it: no two of
 * them may give a member of the line different values.
 *
 * @param groups The metrics.
 * @param settings Service and namespace.
 * @param summary A log line that the first metrics become a part of, unless it has a field with the name of one.
 * @returns The lines, with the summary.
 */
export function renderMetrics(
  groups: Iterable<MetricGroup>,
  settings: ObservabilitySettings,
  summary = "",
): string {
  if (settings.metricsDisabled) return summary;
  const { service, namespace } = settings;
  const documents: MetricDocument[] = [];
  for (const { dimensions, metrics } of groups) {
    for (const part of split([...metrics.values()])) {
      addMetrics(documents, namespace, dimensions, part);
    }
  }
  const names = Object.keys(summary === "" ? {} : JSON.parse(summary));
  let lines = summary;
  for (const { directives, members } of documents) {
    const metadata = { Timestamp: Date.now(), CloudWatchMetrics: directives };
    const fields: [string, unknown][] = [["_aws", metadata], ...members];
    if (lines !== "" && lines === summary && !names.some((name) => members.has(name))) {
      // the summary names the service
      lines = `${summary.slice(0, -2)},${render(fields).slice(1)}\n`;
    } else lines += `${render([["service", service], ...fields])}\n`;
  }
  return lines;
}

function render(fields: readonly (readonly [string, unknown])[]): string {
  return escapeControls(JSON.stringify(Object.fromEntries(fields)));
}

/** Adds metrics to the first document that has room for them, or to a new one. */
function addMetrics(
  documents: MetricDocument[],
  namespace: string,
  dimensions: Readonly<Record<string, string>>,
  metrics: readonly Metric[],
): void {
  const labels = Object.entries(dimensions);
  let document = documents.find(({ members, size }) =>
    size + metrics.length <= MAX_METRICS && !metrics.some(({ name }) => members.has(name)) &&
    labels.every(([name, value]) => (members.get(name) ?? value) === value)
  );
  if (document === undefined) {
    document = { directives: [], members: new Map(), size: 0 };
    documents.push(document);
  }
  document.directives.push({
    Namespace: namespace,
    Dimensions: [["service", ...Object.keys(dimensions)]],
    Metrics: metrics.map(({ name, unit }) => ({ Name: name, Unit: unit })),
  });
  document.size += metrics.length;
  for (const [name, value] of labels) document.members.set(name, value);
  for (const { name, values } of metrics) {
    document.members.set(name, values.length === 1 ? values[0] : values);
  }
}

/** Splits metrics into parts that do not exceed the limits of a document, and have each name once. */
function* split(metrics: readonly Metric[]): Generator<readonly Metric[]> {
  const names = new Set(metrics.map(({ name }) => name));
  const isOnePart = names.size > 0 && names.size === metrics.length && names.size <= MAX_METRICS &&
    metrics.every(({ values }) => values.length <= MAX_VALUES);
  if (isOnePart) return yield metrics;
  for (let left = metrics; left.length > 0;) {
    const first = new Map(left.toReversed().map((metric) => [metric.name, metric]));
    const part = left.filter((metric) => first.get(metric.name) === metric).slice(0, MAX_METRICS);
    yield part.map((metric) => ({ ...metric, values: metric.values.slice(0, MAX_VALUES) }));
    const unfinished = part.filter(({ values }) => values.length > MAX_VALUES)
      .map((metric) => ({ ...metric, values: metric.values.slice(MAX_VALUES) }));
    left = [...unfinished, ...left.filter((metric) => !part.includes(metric))];
  }
}
