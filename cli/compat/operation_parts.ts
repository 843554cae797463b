import { findNarrowing } from "./narrowing.ts";
import { asSchema, type Json, type ValueDirection } from "./schema_view.ts";

/** A change between two documents. */
export interface Change {
  /** `GET /notes` */
  readonly operation: string;
  readonly direction: ValueDirection;
  readonly isBreaking: boolean;
  readonly message: string;
}

/** An operation of one of the documents. */
export interface OperationVersion {
  /** `GET /notes` */
  readonly name: string;
  /** With the parameters of its path before its own. */
  readonly operation: Json;
  readonly document: Json;
}

/** Creates the changes of one operation and direction. */
export interface Reporter {
  (message: string, isBreaking: boolean): Change;
  readonly direction: ValueDirection;
}

/** Returns the schema of a parameter or header, which may be that of its only content. */
export function getSchema({ schema, content }: Json): unknown {
  return schema ?? Object.values((content ?? {}) as Record<string, Json>)[0]?.schema;
}

/** The content of a body, by media type. */
export function getContent({ content }: Json): Readonly<Record<string, Json>> {
  return (content ?? {}) as Record<string, Json>;
}

interface Part {
  readonly schema: unknown;
  readonly document: Json;
}

/** Compares the schema of values with the schema that they must fit. */
export function compareSchemas(from: Part, to: Part, what: string, report: Reporter): Change[] {
  const narrowings = findNarrowing(
    { ...from, schema: asSchema(from.schema) },
    { ...to, schema: asSchema(to.schema) },
    report.direction,
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
    report.direction,
  ).length > 0;
  return isWider ? [report(`${what} changed in a compatible way`, false)] : [];
}
