import { isDeepStrictEqual } from "node:util";
import { findNarrowing } from "./narrowing.ts";
import { asSchema, type Json, resolveView } from "./schema_view.ts";

/** A change between two documents. */
export interface Change {
  /** `GET /notes` */
  readonly operation: string;
  /** `request`: what clients send; `response`: what they receive. */
  readonly direction: "request" | "response";
  readonly isBreaking: boolean;
  readonly message: string;
}

/** The documents that are compared. */
export interface Documents {
  readonly before: Json;
  readonly after: Json;
}

type Reporter = (message: string, isBreaking: boolean) => Change;

/**
 * Compares two versions of an operation.
 *
 * @param operation `GET /notes`
 * @param old The old version.
 * @param now The new version.
 * @param documents The documents.
 */
export function compareOperations(
  operation: string,
  old: Json,
  now: Json,
  documents: Documents,
): Change[] {
  const request: Reporter = (message, isBreaking) => ({
    operation,
    direction: "request",
    isBreaking,
    message,
  });
  const response: Reporter = (message, isBreaking) => ({
    operation,
    direction: "response",
    isBreaking,
    message,
  });
  return [
    ...compareSecurity(old, now, documents, request),
    ...compareParameters(old, now, documents, request),
    ...compareRequestBodies(old, now, documents, request),
    ...compareResponses(old, now, documents, response),
  ];
}

/** Each old alternative must satisfy a new one. */
function compareSecurity(old: Json, now: Json, documents: Documents, report: Reporter): Change[] {
  const [before, after] = [
    listSecurity(old, documents.before),
    listSecurity(now, documents.after),
  ];
  if (isDeepStrictEqual(before, after)) return [];
  const isKept = before.every((held) =>
    after.some((needed) => needed.every((name) => held.includes(name)))
  );
  const describe = (alternatives: string[][]) =>
    alternatives.map((names) => names.join(" and ") || "none").join(" or ");
  return [report(`security was ${describe(before)} and is ${describe(after)}`, !isKept)];
}

function listSecurity(operation: Json, document: Json): string[][] {
  const alternatives = (operation.security ?? document.security ?? []) as Json[];
  return alternatives.length === 0 ? [[]] : alternatives.map((each) => Object.keys(each).sort());
}

function compareParameters(old: Json, now: Json, documents: Documents, report: Reporter): Change[] {
  const before = listParameters(old, documents.before);
  const after = listParameters(now, documents.after);
  const removed = [...before.keys()].filter((key) => !after.has(key))
    .map((key) => report(`the parameter ${key} was removed`, false));
  return [
    ...removed,
    ...[...after].flatMap(([key, parameter]) => {
      const known = before.get(key);
      const isRequired = parameter.required === true;
      if (known === undefined) {
        const kind = isRequired ? "required" : "optional";
        return [report(`the ${kind} parameter ${key} was added`, isRequired)];
      }
      const demanded = isRequired && known.required !== true
        ? [report(`the parameter ${key} is required`, true)]
        : [];
      return [
        ...demanded,
        ...compareSchemas(
          { schema: known.schema, document: documents.before },
          { schema: parameter.schema, document: documents.after },
          `the parameter ${key}`,
          report,
        ),
      ];
    }),
  ];
}

/** Lists parameters by place and name; those of a path by their order. */
function listParameters(operation: Json, document: Json): Map<string, Json> {
  const all = ((operation.parameters ?? []) as Json[]).map((schema) =>
    resolveView({ schema, document }).schema
  );
  let position = 0;
  return new Map(all.map((parameter) => {
    const name = parameter.in === "path" ? `${++position} of the path` : String(parameter.name);
    const key = parameter.in === "header" ? name.toLowerCase() : name;
    return [`${parameter.in === "path" ? "" : `${parameter.in} `}${key}`, parameter];
  }));
}

function compareRequestBodies(
  old: Json,
  now: Json,
  documents: Documents,
  report: Reporter,
): Change[] {
  const before = readBody(old.requestBody, documents.before);
  const after = readBody(now.requestBody, documents.after);
  if (before === undefined && after === undefined) return [];
  if (before === undefined) {
    return [report("a body was added", after!.isRequired)];
  }
  if (after === undefined) return [report("the body was removed", false)];
  const lost = Object.keys(before.content).filter((type) => !(type in after.content))
    .map((type) => report(`the body is not accepted as ${type}`, true));
  const demanded = after.isRequired && !before.isRequired
    ? [report("the body is required", true)]
    : [];
  return [
    ...lost,
    ...demanded,
    ...Object.keys(before.content).filter((type) => type in after.content).flatMap((type) =>
      compareSchemas(
        { schema: before.content[type].schema, document: documents.before },
        { schema: after.content[type].schema, document: documents.after },
        "the body",
        report,
      )
    ),
  ];
}

function readBody(body: unknown, document: Json) {
  if (body === undefined) return undefined;
  const { schema } = resolveView({ schema: asSchema(body), document });
  return {
    isRequired: schema.required === true,
    content: (schema.content ?? {}) as Record<string, Json>,
  };
}

/** Reads from new to old: the new server's answers must fit what the old client expects. */
function compareResponses(old: Json, now: Json, documents: Documents, report: Reporter): Change[] {
  const before = (old.responses ?? {}) as Json;
  const after = (now.responses ?? {}) as Json;
  const removed = Object.keys(before).filter((status) => !(status in after))
    .map((status) => report(`the status ${status} was removed`, false));
  return [
    ...removed,
    ...Object.keys(after).flatMap((status) => {
      if (!(status in before)) {
        const isError = Number(status) >= 400;
        return [report(`the status ${status} was added`, !isError)];
      }
      const known = readBody(before[status], documents.before)!.content;
      const content = readBody(after[status], documents.after)!.content;
      return compareContents(status, known, content, documents, report);
    }),
  ];
}

function compareContents(
  status: string,
  known: Record<string, Json>,
  content: Record<string, Json>,
  { before, after }: Documents,
  report: Reporter,
): Change[] {
  const lost = Object.keys(known).length > 0 && Object.keys(content).length === 0
    ? [report(`the body of ${status} was removed`, true)]
    : [];
  return [
    ...lost,
    ...Object.keys(content).flatMap((type) => {
      if (!(type in known)) {
        return [report(`the body of ${status} can be ${type}`, Object.keys(known).length > 0)];
      }
      return compareSchemas(
        { schema: content[type].schema, document: after },
        { schema: known[type].schema, document: before },
        `the body of ${status}`,
        report,
      );
    }),
  ];
}

interface Part {
  readonly schema: unknown;
  readonly document: Json;
}

/** Compares the schema of values with the schema that they must fit. */
function compareSchemas(from: Part, to: Part, what: string, report: Reporter): Change[] {
  const narrowings = findNarrowing(
    { ...from, schema: asSchema(from.schema) },
    { ...to, schema: asSchema(to.schema) },
  );
  if (narrowings.length > 0) {
    const messages = narrowings.map(({ path, message }) =>
      `${what}${path === "" ? "" : `, ${path}`}: ${message}`
    );
    return [...new Set(messages)].map((message) => report(message, true));
  }
  const isWider = findNarrowing(
    { ...to, schema: asSchema(to.schema) },
    { ...from, schema: asSchema(from.schema) },
  ).length > 0;
  return isWider ? [report(`${what} changed in a compatible way`, false)] : [];
}
