import { escapeControls, quote } from "./json_text.ts";
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
  /** Members of the line that are no dimensions: they cost nothing, and Logs Insights finds them. */
  readonly properties?: Readonly<Record<string, string>>;
  /** One for each name and unit. */
  readonly metrics: Metric[];
}

/** A line in CloudWatch's embedded metric format, before it is rendered. */
interface MetricLine {
  /** Entries of `_aws.CloudWatchMetrics`. */
  readonly directives: { Namespace: string; Dimensions: string[][]; Metrics: object[] }[];
  /** The group of the last directive. */
  group: MetricGroup | undefined;
  /** Values of dimensions and metrics. */
  readonly members: Record<string, string | number | readonly number[]>;
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
 * @param summary A log line that the first metrics become a part of, unless it or an object in it has a field with the name of one.
 * @returns The lines, with the summary.
 */
export function renderMetrics(
  groups: Iterable<MetricGroup>,
  { metricsDisabled, service, namespace }: ObservabilitySettings,
  summary = "",
): string {
  if (metricsDisabled) return summary;
  const lines: MetricLine[] = [];
  for (const group of groups) {
    for (const { name, unit, values } of group.metrics) {
      for (let at = 0; at < values.length; at += MAX_VALUES) {
        const part = values.length === 1 ? values[0] : values.slice(at, at + MAX_VALUES);
        addMetric(findLine(lines, group, name), group, namespace, { name, unit, part });
      }
    }
  }
  let text = summary;
  for (const { directives, members } of lines) {
    const _aws = { Timestamp: Date.now(), CloudWatchMetrics: directives };
    const isPart = text !== "" && text === summary &&
      !Object.keys(members).some((name) => summary.includes(`${quote(name)}:`));
    // the summary names the service
    const json = escapeControls(
      JSON.stringify(isPart ? { _aws, ...members } : { service, _aws, ...members }),
    );
    text = isPart ? `${summary.slice(0, -2)},${json.slice(1)}\n` : `${text}${json}\n`;
  }
  return text;
}

/** Returns the first line that has room for a metric, or a new one. */
function findLine(
  lines: MetricLine[],
  { dimensions, properties }: MetricGroup,
  name: string,
): MetricLine {
  const given = { ...dimensions, ...properties };
  const labels = Object.keys(given);
  const found = lines.find(({ members, size }) =>
    size < MAX_METRICS && !(name in members) &&
    labels.every((label) => !(label in members) || members[label] === given[label])
  );
  if (found !== undefined) return found;
  const line = { directives: [], group: undefined, members: Object.create(null), size: 0 };
  lines.push(line);
  return line;
}

function addMetric(
  line: MetricLine,
  group: MetricGroup,
  namespace: string,
  { name, unit, part }: Omit<Metric, "values"> & { part: number | readonly number[] },
): void {
  const { dimensions, properties } = group;
  if (line.group !== group) {
    const names = ["service", ...Object.keys(dimensions)];
    line.directives.push({ Namespace: namespace, Dimensions: [names], Metrics: [] });
    Object.assign(line.members, dimensions, properties);
    line.group = group;
  }
  line.directives.at(-1)!.Metrics.push({ Name: name, Unit: unit });
  line.members[name] = part;
  line.size++;
}
