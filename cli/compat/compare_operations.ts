import { isDeepStrictEqual } from "node:util";
import { compareResponses } from "./compare_responses.ts";
import {
  type Change,
  compareSchemas,
  getContent,
  getSchema,
  type OperationVersion,
  type Reporter,
} from "./operation_parts.ts";
import { asSchema, type Json, listTypes, resolvePointer, resolveView } from "./schema_view.ts";

/**
 * Compares two versions of an operation.
 *
 * @param now The new version.
 */
export function compareOperations(old: OperationVersion, now: OperationVersion): Change[] {
  function createReporter(direction: Change["direction"]): Reporter {
    const report = (message: string, isBreaking: boolean): Change => ({
      operation: old.name,
      direction,
      isBreaking,
      message,
    });
    return Object.assign(report, { direction });
  }
  const request = createReporter("request");
  return [
    ...compareSecurity(old, now, request),
    ...compareParameters(old, now, request),
    ...compareRequestBodies(old, now, request),
    ...compareResponses(old, now, createReporter("response")),
  ];
}

/** Each old alternative must satisfy a new one, and be sent in the same way. */
function compareSecurity(old: OperationVersion, now: OperationVersion, report: Reporter): Change[] {
  const [before, after] = [listSecurity(old), listSecurity(now)];
  const common = new Set(before.flat().filter((name) => after.flat().includes(name)));
  const changed = [...common]
    .filter((name) => !isDeepStrictEqual(getScheme(name, old), getScheme(name, now)))
    .map((name) => report(`the security scheme ${name} changed`, true));
  if (isDeepStrictEqual(before, after)) return changed;
  const isKept = before.every((held) =>
    after.some((needed) => needed.every((name) => held.includes(name)))
  );
  const describe = (alternatives: string[][]) =>
    alternatives.map((names) => names.join(" and ") || "none").join(" or ");
  const message = `security was ${describe(before)} and is ${describe(after)}`;
  return [...changed, report(message, !isKept)];
}

/** How a credential is sent: `bearerFormat` is a comment. */
function getScheme(name: string, { document }: OperationVersion): Json {
  const { description: _, bearerFormat: __, ...scheme } =
    resolvePointer(document, `#/components/securitySchemes/${name}`) ?? {};
  return scheme;
}

function listSecurity({ operation, document }: OperationVersion): string[][] {
  const alternatives = (operation.security ?? document.security ?? []) as Json[];
  return alternatives.length === 0 ? [[]] : alternatives.map((each) => Object.keys(each).sort());
}

function compareParameters(
  old: OperationVersion,
  now: OperationVersion,
  report: Reporter,
): Change[] {
  const before = listParameters(old);
  const after = listParameters(now);
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
      const isSentAlike = isDeepStrictEqual(
        describeText(known, old.document),
        describeText(parameter, now.document),
      );
      return [
        ...demanded,
        ...isSentAlike ? [] : [report(`the parameter ${key} is written in another way`, true)],
        ...compareSchemas(
          { schema: getSchema(known), document: old.document },
          { schema: getSchema(parameter), document: now.document },
          `the parameter ${key}`,
          report,
        ),
      ];
    }),
  ];
}

/** Describes how lists and objects become the text of a parameter, with the defaults of OpenAPI. */
function describeText(parameter: Json, document: Json): unknown {
  const { content, style, explode } = parameter;
  if (content !== undefined) return Object.keys(content as Json);
  const { schema } = resolveView({ schema: asSchema(parameter.schema), document });
  const types = listTypes(schema);
  if (!types.includes("array") && !types.includes("object")) return "one value";
  const isForm = style === undefined && /^(?:query|cookie)$/.test(String(parameter.in));
  const given = style ?? (isForm ? "form" : "simple");
  return [given, explode ?? given === "form"];
}

/** Lists parameters by place and name; those of a path by where the path has them. */
function listParameters({ name, operation, document }: OperationVersion): Map<string, Json> {
  const inPath = [...name.matchAll(/\{([^{}/]*)\}/g)].map(([, each]) => each);
  return new Map((operation.parameters as Json[]).map((written) => {
    const parameter = resolveView({ schema: written, document }).schema;
    const given = String(parameter.name);
    if (parameter.in === "path") return [`${inPath.indexOf(given) + 1} of the path`, parameter];
    const key = parameter.in === "header" ? given.toLowerCase() : given;
    return [`${parameter.in} ${key}`, parameter];
  }));
}

function compareRequestBodies(
  old: OperationVersion,
  now: OperationVersion,
  report: Reporter,
): Change[] {
  const before = readBody(old);
  const after = readBody(now);
  if (after === undefined) {
    return before === undefined ? [] : [report("the body was removed", false)];
  }
  const isRequired = after.required === true;
  if (before === undefined) return [report("a body was added", isRequired)];
  const demanded = isRequired && before.required !== true
    ? [report("the body is required", true)]
    : [];
  const accepted = getContent(after);
  return [
    ...demanded,
    ...Object.entries(getContent(before)).flatMap(([type, { schema }]) => {
      if (!(type in accepted)) return [report(`the body is not accepted as ${type}`, true)];
      return compareSchemas(
        { schema, document: old.document },
        { schema: accepted[type].schema, document: now.document },
        "the body",
        report,
      );
    }),
  ];
}

function readBody({ operation, document }: OperationVersion): Json | undefined {
  if (operation.requestBody === undefined) return undefined;
  return resolveView({ schema: asSchema(operation.requestBody), document }).schema;
}
