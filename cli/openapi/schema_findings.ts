import type { Place } from "../sources/source_positions.ts";
import { type AnySchema, isSchema } from "./read_responses.ts";
import type { NamedSchema } from "./schema_names.ts";

/** A message about code that cannot be described. */
export interface OpenApiFinding extends Place {
  readonly message: string;
}

/** Collects errors of schemas with their places. */
export class SchemaFindings {
  /** The schemas that the sources name. */
  readonly named: readonly NamedSchema[];
  readonly #declarations: ReadonlyMap<AnySchema, NamedSchema>;
  readonly #findings = new Map<string, OpenApiFinding>();
  readonly #uses = new Map<AnySchema, Place & { readonly label: string }>();

  /** @param named The schemas that the sources name. */
  constructor(named: readonly NamedSchema[]) {
    this.named = named;
    this.#declarations = new Map([...named].reverse().map((each) => [each.schema, each]));
  }

  /** The errors so far, without duplicates. */
  get findings(): OpenApiFinding[] {
    return [...this.#findings.values()];
  }

  /** Adds an error. */
  add({ file, line, message }: OpenApiFinding): void {
    this.#findings.set(`${file}\0${line}\0${message}`, { file, line, message });
  }

  /** Returns the value of a schema option; adds an error if it is not a schema. */
  use(value: unknown, { file, line }: Place, label: string): AnySchema | undefined {
    if (value === undefined) return undefined;
    if (!isSchema(value)) {
      this.add({ file, line, message: `${label} is not a zod 4 schema` });
      return undefined;
    }
    if (!this.#uses.has(value)) this.#uses.set(value, { file, line, label });
    return value;
  }

  /** Adds an error in a part of a schema, at its declaration if it has one. */
  addIssue(schema: AnySchema, { path, message }: { path: string; message: string }): void {
    const { file, line, label } = this.#declarations.get(schema) ?? this.#uses.get(schema)!;
    this.add({ file, line, message: `${label}${path === "" ? "" : `, ${path}`}: ${message}` });
  }
}
