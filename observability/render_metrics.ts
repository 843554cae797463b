import { quote } from "./logger.ts";
import { renderMetricNames } from "./metric_document.ts";
import type { Metric, MetricDocument, MetricGroup } from "./metric_group.ts";
import type { MetricUnit } from "./metric_unit.ts";
import type { MetricSettings } from "./settings.ts";

/** Limits of the embedded metric format (CloudWatch documentation, "Embedded metric format specification"). */
const MAX_METRICS = 100, MAX_VALUES = 100;

type MetricsByName = ReadonlyMap<string, Metric>;

/**
 * Renders the metrics of an invocation. Sets share a document where the format allows it: no two sets may give a member
 * of the document different values.
 *
 * @param groups The metrics.
 * @param settings Service and namespace.
 * @param outcome A document to begin with.
 * @returns The documents. One for each group at most, more for a group that exceeds the limits of the format.
 */
export function collectDocuments(
  groups: Iterable<MetricGroup>,
  settings: MetricSettings,
  outcome?: MetricDocument,
): MetricDocument[] {
  const documents = outcome === undefined ? [] : [outcome];
  if (settings.metricsDisabled) return documents;
  for (const { dimensions, metrics } of groups) {
    if (metrics.size === 0) continue;
    const { namespace } = settings;
    if (fitsOneDocument(metrics)) addMetrics(documents, namespace, dimensions, metrics);
    else for (const part of split(metrics)) addMetrics(documents, namespace, dimensions, part);
  }
  return documents;
}

/** Adds metrics to the first document that has room for them, or to a new one. */
function addMetrics(
  documents: MetricDocument[],
  namespace: string,
  dimensions: Readonly<Record<string, string>>,
  metrics: MetricsByName,
): void {
  const { text, members } = getDocumentNames(namespace, dimensions, metrics);
  for (const document of documents) {
    if (document.size + metrics.size > MAX_METRICS) continue;
    const joined = joinMembers(document.members, members, dimensions, metrics);
    if (joined === undefined) continue;
    document.directives += `,${text}`;
    document.members = joined;
    document.size += metrics.size;
    return;
  }
  const joined = joinMembers("", members, dimensions, metrics)!;
  documents.push({ directives: text, members: joined, size: metrics.size });
}

/** Adds members to those of a document. Returns `undefined` if one of them has another value there. */
function joinMembers(
  present: string,
  names: readonly string[],
  dimensions: Readonly<Record<string, string>>,
  metrics: MetricsByName,
): string | undefined {
  let text = present;
  let i = 0;
  for (const name in dimensions) {
    const member = names[i] + quote(dimensions[name]);
    // quotes within texts are escaped: a match is a member
    if (!present.includes(names[i++])) text += member;
    else if (!present.includes(member)) return undefined;
  }
  for (const { values } of metrics.values()) {
    if (present.includes(names[i])) return undefined;
    text += names[i++] + (values.length === 1 ? values[0] : JSON.stringify(values));
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
