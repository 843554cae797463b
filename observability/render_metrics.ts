import { quote } from "./logger.ts";
import { renderMetricDocument, renderMetricNames } from "./metric_document.ts";
import type { Metric, MetricGroup } from "./metric_group.ts";
import type { MetricUnit } from "./metric_unit.ts";
import type { MetricSettings } from "./settings.ts";

/** Limits of the embedded metric format (CloudWatch documentation, "Embedded metric format specification"). */
const MAX_METRICS = 100, MAX_VALUES = 100;

type MetricsByName = ReadonlyMap<string, Metric>;

/**
 * Renders groups of metrics in CloudWatch's embedded metric format.
 *
 * @param groups The groups.
 * @param settings Service and namespace.
 * @returns One line for each group, several for a group that exceeds the limits of the format.
 */
export function renderGroups(
  groups: Iterable<MetricGroup>,
  settings: MetricSettings,
): string {
  if (settings.metricsDisabled) return "";
  let text = "";
  for (const { dimensions, metrics } of groups) {
    if (metrics.size === 0) continue;
    if (fitsOneDocument(metrics)) text += renderDocument(settings, dimensions, metrics);
    else for (const part of split(metrics)) text += renderDocument(settings, dimensions, part);
  }
  return text;
}

function fitsOneDocument(metrics: MetricsByName): boolean {
  if (metrics.size > MAX_METRICS) return false;
  for (const { values } of metrics.values()) if (values.length > MAX_VALUES) return false;
  return true;
}

function* split(metrics: MetricsByName): Generator<MetricsByName> {
  let left = Array.from(metrics.values(), (metric) => ({ metric, from: 0 }));
  while (left.length > 0) {
    const now = left.slice(0, MAX_METRICS);
    yield new Map(now.map(({ metric: { name, unit, values }, from }) => [
      name,
      { name, unit, values: values.slice(from, from + MAX_VALUES) },
    ]));
    const unfinished = now.map(({ metric, from }) => ({ metric, from: from + MAX_VALUES }))
      .filter(({ metric, from }) => from < metric.values.length);
    left = [...unfinished, ...left.slice(MAX_METRICS)];
  }
}

/** The parts of a document that depend on names and units only, serialised. */
interface DocumentNames {
  readonly namespace: string;
  readonly dimensions: readonly string[];
  readonly metrics: readonly { readonly name: string; readonly unit: MetricUnit }[];
  /** `,"NotesCreated":` for each dimension and metric, in order. */
  readonly members: readonly string[];
  /** The part in `_aws`. */
  readonly text: string;
}

/**
 * The last document by its first metric. Invocations repeat the same names, and comparing them takes a tenth of the
 * time of serialising them. Names can come from clients, so the number of entries is limited.
 */
const lastDocuments: Map<string, DocumentNames> = new Map();
const MAX_DOCUMENTS = 1000;

function getDocumentNames(
  namespace: string,
  dimensions: Readonly<Record<string, string>>,
  metrics: MetricsByName,
): DocumentNames {
  const first = metrics.keys().next().value!;
  const last = lastDocuments.get(first);
  if (last?.namespace === namespace && hasNames(last, dimensions, metrics)) return last;
  const document = serializeNames(namespace, Object.keys(dimensions), [...metrics.values()]);
  if (lastDocuments.size >= MAX_DOCUMENTS) lastDocuments.clear();
  lastDocuments.set(first, document);
  return document;
}

function hasNames(
  last: DocumentNames,
  dimensions: Readonly<Record<string, string>>,
  metrics: MetricsByName,
): boolean {
  let i = 0;
  for (const name in dimensions) if (last.dimensions[i++] !== name) return false;
  if (i !== last.dimensions.length || metrics.size !== last.metrics.length) return false;
  i = 0;
  for (const { name, unit } of metrics.values()) {
    const metric = last.metrics[i++];
    if (metric.name !== name || metric.unit !== unit) return false;
  }
  return true;
}

function serializeNames(
  namespace: string,
  dimensions: readonly string[],
  metrics: readonly Metric[],
): DocumentNames {
  const namesAndUnits = metrics.map(({ name, unit }) => ({ name, unit }));
  const names = [...dimensions, ...metrics.map(({ name }) => name)];
  return {
    namespace,
    dimensions,
    metrics: namesAndUnits,
    members: names.map((name) => `,${quote(name)}:`),
    text: renderMetricNames(namespace, dimensions, metrics.map(({ name, unit }) => [name, unit])),
  };
}

function renderDocument(
  settings: MetricSettings,
  dimensions: Readonly<Record<string, string>>,
  metrics: MetricsByName,
): string {
  const { members, text } = getDocumentNames(settings.namespace, dimensions, metrics);
  let values = "";
  let i = 0;
  for (const name in dimensions) values += members[i++] + quote(dimensions[name]);
  for (const metric of metrics.values()) {
    values += members[i++] +
      (metric.values.length === 1 ? metric.values[0] : JSON.stringify(metric.values));
  }
  return renderMetricDocument(settings, text, values);
}
