import type { SliceUse, SourceLocation } from "../analysis/slice.ts";
import type { OpenApiFinding } from "./read_operations.ts";
import { SliceError, type SliceValues } from "./run_slice.ts";
import { type AnySchema, isSchema } from "./schema_names.ts";

/** Evaluates the schemas of operations, and collects the errors. */
export class SchemaValues {
  readonly #values: SliceValues;
  readonly #findings = new Map<string, OpenApiFinding>();
  readonly #uses = new Map<AnySchema, SliceUse & { readonly option: string }>();

  /** @param values The values of the project's sources. */
  constructor(values: SliceValues) {
    this.#values = values;
  }

  /** The errors so far, without duplicates. */
  get findings(): OpenApiFinding[] {
    return [...this.#findings.values()];
  }

  /** Adds an error. */
  find(finding: OpenApiFinding): void {
    this.#findings.set(`${finding.file}\0${finding.line}\0${finding.message}`, finding);
  }

  /** Returns the value of a schema option; adds an error if it is not a schema. */
  evaluate(use: SliceUse, option: string): AnySchema | undefined {
    try {
      const value = this.#values.getValue(use.unit);
      if (isSchema(value)) return this.#noteUse(value, use, option);
      if (value !== undefined) {
        this.find({ ...getLocation(use), message: `${option} is not a zod 4 schema` });
      }
    } catch (error) {
      this.find(toFinding(error, use));
    }
    return undefined;
  }

  /** Returns a schema that a handler passes to a function; its body stays unknown if that fails. */
  tryValue(use: SliceUse): AnySchema | undefined {
    try {
      const value = this.#values.getValue(use.unit);
      return isSchema(value) ? this.#noteUse(value, use, "the response schema") : undefined;
    } catch {
      return undefined;
    }
  }

  /** Adds an error in a part of a schema, at its declaration if it has one. */
  findIssue(
    schema: AnySchema,
    { path, message, cause }: { path: string; message: string; cause?: unknown },
    declared: (SourceLocation & { readonly label: string }) | undefined,
  ): void {
    const use = this.#uses.get(schema)!;
    if (cause instanceof SliceError) return this.find(toFinding(cause, use));
    const what = declared?.label ?? use.option;
    this.find({
      ...getLocation(declared ?? use),
      message: `${what}${path === "" ? "" : `, ${path}`}: ${message}`,
    });
  }

  #noteUse(schema: AnySchema, use: SliceUse, option: string): AnySchema {
    if (!this.#uses.has(schema)) this.#uses.set(schema, { ...use, option });
    return schema;
  }
}

/** Returns the location without other members. */
export function getLocation({ file, line }: SourceLocation): SourceLocation {
  return { file, line };
}

function toFinding(error: unknown, use: SliceUse): OpenApiFinding {
  return error instanceof SliceError
    ? { ...error.location, message: error.message }
    : { ...getLocation(use), message: error instanceof Error ? error.message : String(error) };
}
