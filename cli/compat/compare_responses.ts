import {
  type Change,
  compareSchemas,
  getContent,
  getSchema,
  type OperationVersion,
  type Reporter,
} from "./operation_parts.ts";
import { asSchema, type Json, resolveView } from "./schema_view.ts";

/** A response of one of the documents. */
interface ResponseVersion {
  readonly response: Json;
  readonly document: Json;
}

/**
 * Compares the responses of an operation, from new to old: what the new server answers must fit
 * what the old client expects.
 *
 * @param report Creates a change.
 */
export function compareResponses(
  old: OperationVersion,
  now: OperationVersion,
  report: Reporter,
): Change[] {
  const before = (old.operation.responses ?? {}) as Json;
  const after = (now.operation.responses ?? {}) as Json;
  const removed = Object.keys(before).filter((status) => !(status in after))
    .map((status) => report(`the status ${status} was removed`, false));
  return [
    ...removed,
    ...Object.keys(after).flatMap((status) => {
      if (!(status in before)) {
        const isError = Number(status) >= 400;
        return [report(`the status ${status} was added`, !isError)];
      }
      const known = resolveResponse(before[status], old.document);
      const response = resolveResponse(after[status], now.document);
      return [
        ...compareHeaders(status, known, response, report),
        ...compareContents(status, known, response, report),
      ];
    }),
  ];
}

function resolveResponse(written: unknown, document: Json): ResponseVersion {
  return { response: resolveView({ schema: asSchema(written), document }).schema, document };
}

/** A client may rely on a header that is always sent, and on the values of each. */
function compareHeaders(
  status: string,
  old: ResponseVersion,
  now: ResponseVersion,
  report: Reporter,
): Change[] {
  const before = listHeaders(old);
  const after = listHeaders(now);
  const added = [...after.keys()].filter((name) => !before.has(name))
    .map((name) => report(`the header ${name} of ${status} was added`, false));
  return [
    ...added,
    ...[...before].flatMap(([name, known]) => {
      const header = after.get(name);
      const what = `the header ${name} of ${status}`;
      if (header === undefined) return [report(`${what} was removed`, known.required === true)];
      const isLost = known.required === true && header.required !== true;
      return [
        ...isLost ? [report(`${what} may be missing`, true)] : [],
        ...compareSchemas(
          { schema: getSchema(header), document: now.document },
          { schema: getSchema(known), document: old.document },
          what,
          report,
        ),
      ];
    }),
  ];
}

/** Lists headers by name, without `content-type`: the media types say it. */
function listHeaders({ response, document }: ResponseVersion): Map<string, Json> {
  const headers = Object.entries((response.headers ?? {}) as Record<string, Json>);
  const all = new Map(headers.map(([name, schema]) => [
    name.toLowerCase(),
    resolveView({ schema, document }).schema,
  ]));
  all.delete("content-type");
  return all;
}

function compareContents(
  status: string,
  old: ResponseVersion,
  now: ResponseVersion,
  report: Reporter,
): Change[] {
  const known = getContent(old.response);
  const content = getContent(now.response);
  const hadBody = Object.keys(known).length > 0;
  if (hadBody && Object.keys(content).length === 0) {
    return [report(`the body of ${status} was removed`, true)];
  }
  return Object.keys(content).flatMap((type) => {
    if (!(type in known)) return [report(`the body of ${status} can be ${type}`, hadBody)];
    return compareSchemas(
      { schema: content[type].schema, document: now.document },
      { schema: known[type].schema, document: old.document },
      `the body of ${status}`,
      report,
    );
  });
}
