import { type $ZodType, globalRegistry } from "zod/v4/core";
import type { JsonSchema } from "./json_schema.ts";
import { convertSchema, type Direction, type SchemaIssue } from "./convert.ts";

const PREFIX = "#/components/schemas/";
/** Of one name the answers' schema keeps it, the requests' gets another, where the two differ. */
const DIRECTIONS = ["output", "input"] as const satisfies readonly Direction[];

/** Options of {@link Components}. */
export interface ComponentsOptions {
  /** Names of schemas without an `id`. */
  readonly schemaNames?: ReadonlyMap<$ZodType, string>;
  /** Hears what cannot be described; without it that throws, unless it can be described as `{}`. */
  readonly onIssue?: (issue: SchemaIssue) => void;
}

/** How a schema becomes part of a document. */
interface Adoption {
  readonly direction: Direction;
  /** True if the schema itself is written where it is used, although it has a name. */
  readonly isInline: boolean;
  readonly allowsFiles: boolean;
}

/** A shared schema in each direction. */
type Shared = { readonly schema: $ZodType | undefined } & { [D in Direction]?: JsonSchema };

/**
 * The schemas that a document shares. Names are final when all schemas are known: a schema that is the same in requests and
 * responses is one component, a schema that differs (defaults, transforms) is two. Until then a reference is a draft.
 */
export class Components {
  readonly #shared: Map<string, Shared> = new Map();
  readonly #described: Map<$ZodType, Record<string, JsonSchema>> = new Map();
  readonly #own: Map<string, JsonSchema> = new Map();
  readonly #options: ComponentsOptions;

  /**
   * @param options Names, and a callback for errors.
   */
  constructor(options: ComponentsOptions = {}) {
    this.#options = options;
  }

  /**
   * Returns a schema for any place in the document: a reference if it has a name.
   *
   * @param schema The schema.
   * @param direction Which way its values go.
   * @param fallback An unused name, for a schema that refers to itself and has no name.
   * @param allowsFiles True for a body of `multipart/form-data`.
   */
  describe(
    schema: $ZodType,
    direction: Direction,
    fallback: string,
    allowsFiles = false,
  ): JsonSchema {
    const options = { direction, isInline: false, allowsFiles };
    return this.#once(
      schema,
      allowsFiles ? "form" : direction,
      () => this.#adopt(schema, fallback, options),
    );
  }

  /**
   * A schema whose fields are wanted, not a reference to it: parameters, headers and forms.
   *
   * @param schema The schema.
   * @param fallback A name that no other schema has.
   * @param direction Which way its values go.
   * @param allowsFiles Whether it is a form with files.
   */
  describeFields(
    schema: $ZodType,
    fallback: string,
    direction: Direction = "input",
    allowsFiles = false,
  ): JsonSchema {
    const options = { direction, isInline: true, allowsFiles };
    const kind = `${allowsFiles ? "form" : direction} fields`;
    return this.#once(schema, kind, () => this.#adopt(schema, fallback, options));
  }

  /**
   * Adds a schema of the library. A schema of the application with the same name replaces it.
   *
   * @param name Its name.
   * @param json The schema.
   * @returns A reference.
   */
  own(name: string, json: JsonSchema): JsonSchema {
    this.#own.set(name, json);
    return { $ref: getDraft("own", name) };
  }

  /**
   * Settles the names.
   *
   * @param document What holds the drafts.
   * @returns The same with true references, and the schemas that it needs, by name.
   */
  finish<T>(document: T): { document: T; schemas: Record<string, JsonSchema> } {
    const names = this.#settle();
    const final = (reference: string) =>
      names.has(reference) ? PREFIX + names.get(reference) : reference;
    const drafts = new Map<string, JsonSchema>();
    for (const [name, json] of this.#own) drafts.set(getDraft("own", name), json);
    for (const [name, shared] of this.#shared) {
      for (const direction of DIRECTIONS) {
        const json = shared[direction];
        if (json !== undefined) drafts.set(getDraft(direction, name), json);
      }
    }
    const needed = new Map<string, JsonSchema>();
    const pending = [...referencesIn(document)];
    for (let draft = pending.pop(); draft !== undefined; draft = pending.pop()) {
      const name = names.get(draft);
      if (name === undefined || needed.has(name)) continue;
      const json = drafts.get(draft)!;
      needed.set(name, replaceReferences(json, final));
      pending.push(...referencesIn(json));
    }
    const schemas = Object.fromEntries([...needed].sort(([a], [b]) => a < b ? -1 : 1));
    const finished = { document: replaceReferences(document, final), schemas };
    completeDiscriminators(finished, schemas);
    return finished;
  }

  #once(schema: $ZodType, kind: string, describe: () => JsonSchema): JsonSchema {
    let known = this.#described.get(schema);
    if (known === undefined) this.#described.set(schema, known = {});
    return known[kind] ??= describe();
  }

  #adopt(
    schema: $ZodType,
    fallback: string,
    { direction, isInline, allowsFiles }: Adoption,
  ): JsonSchema {
    const { schemaNames, onIssue } = this.#options;
    const owners = new Map<string, $ZodType>();

    function getName(part: $ZodType): string | undefined {
      if (isInline && part === schema) return undefined;
      const name = getId(part) ?? schemaNames?.get(part);
      if (name !== undefined && !owners.has(name)) owners.set(name, part);
      return name;
    }

    try {
      const { $defs = {}, ...root } = convertSchema(schema, {
        direction,
        getName,
        allowsFiles,
        isText: isInline && direction === "input",
        onIssue,
      }) as
        & JsonSchema
        & {
          $defs?: Record<string, JsonSchema>;
        };
      const nameOfKey = (key: string) =>
        owners.has(key) ? key : `${fallback}_${key.replace(/\D+/, "")}`;
      const drafts = new Map([["#", getDraft(direction, fallback)]]);
      for (const key of Object.keys($defs)) {
        drafts.set(pointerTo(key), getDraft(direction, nameOfKey(key)));
      }
      const settle = <T>(json: T): T =>
        replaceReferences(json, (reference) => drafts.get(reference) ?? reference);
      for (const [key, json] of Object.entries($defs)) {
        this.#share(nameOfKey(key), owners.get(key), direction, settle(json));
      }
      const refersToItself = referencesIn(root).includes("#");
      if (!refersToItself) return settle(root);
      this.#share(fallback, schema, direction, settle(root));
      return isInline ? settle(root) : { $ref: getDraft(direction, fallback) };
    } catch (cause) {
      if (onIssue === undefined) throw cause;
      onIssue({
        schema,
        path: "",
        message: cause instanceof Error ? cause.message : String(cause),
        cause,
      });
      return {};
    }
  }

  #share(name: string, schema: $ZodType | undefined, direction: Direction, json: JsonSchema): void {
    let shared = this.#shared.get(name);
    if (shared === undefined) this.#shared.set(name, shared = { schema });
    // two schemas with one id are compared in this direction
    if (
      shared.schema !== schema && shared.schema !== undefined && shared[direction] === undefined
    ) {
      this.describe(shared.schema, direction, name);
    }
    const known = shared[direction];
    if (known === undefined) shared[direction] = json;
    else if (shared.schema !== schema && JSON.stringify(known) !== JSON.stringify(json)) {
      throw new TypeError(
        `Two schemas have the id ${name} and are not the same: give one of them another id`,
      );
    }
  }

  /** Names by draft. */
  #settle(): Map<string, string> {
    const differing = new Set<string>();
    const asNames = (json: JsonSchema) =>
      JSON.stringify(replaceReferences(json, (draft) => draft.replace(/^.*?:/, ":")));
    const pairs = [...this.#shared].flatMap(([name, { input, output }]) =>
      input === undefined || output === undefined ? [] : [{
        name,
        isSame: asNames(input) === asNames(output),
        parts: referencesIn(input).map((draft) => draft.replace(/^.*?:/, "")),
      }]
    );
    for (let count = -1; count !== differing.size;) {
      count = differing.size;
      for (const { name, isSame, parts } of pairs) {
        if (!isSame || parts.some((part) => differing.has(part))) differing.add(name);
      }
    }

    const names = new Map<string, string>();
    const taken = new Set<string>();
    function take(wish: string): string {
      // what OpenAPI 3.1 allows as a component's name
      const base = wish.replace(/[^\w.-]/g, "_");
      let name = base;
      for (let count = 2; taken.has(name); count++) name = `${base}${count}`;
      taken.add(name);
      return name;
    }
    const sorted = [...this.#shared.keys()].sort();
    for (const name of sorted) {
      const taking = take(name);
      for (const direction of DIRECTIONS) names.set(getDraft(direction, name), taking);
    }
    for (const name of sorted) {
      if (differing.has(name)) names.set(getDraft("input", name), take(`${name}Input`));
    }
    for (const name of this.#own.keys()) names.set(getDraft("own", name), take(name));
    return names;
  }
}

function getDraft(kind: Direction | "own", name: string): string {
  return `${kind}:${name}`;
}

function getId(schema: $ZodType): string | undefined {
  const id = (globalRegistry.get(schema) as { id?: unknown } | undefined)?.id;
  return id === undefined ? undefined : String(id);
}

/** A JSON pointer, RFC 6901 section 3. */
function pointerTo(key: string): string {
  return `#/$defs/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Keywords with example data, which holds no references. */
const DATA_KEYS: ReadonlySet<string> = new Set(["default", "example", "examples", "const", "enum"]);

function replaceReferences<T>(value: T, replace: (reference: string) => string): T {
  if (Array.isArray(value)) return value.map((item) => replaceReferences(item, replace)) as T;
  if (typeof value !== "object" || value === null) return value;
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const isReference = key === "$ref" && typeof inner === "string";
    const changed = isReference
      ? replace(inner)
      : isData(key, inner)
      ? inner
      : replaceReferences(inner, replace);
    // a field called __proto__ becomes a property as well
    Object.defineProperty(result, key, {
      value: changed,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return result as T;
}

function referencesIn(value: unknown, found: string[] = []): string[] {
  if (typeof value !== "object" || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "$ref" && typeof inner === "string") found.push(inner);
    else if (!isData(key, inner)) referencesIn(inner, found);
  }
  return found;
}

/**
 * Writes the `mapping` of each `discriminator`. Only references can be variants (OpenAPI 3.1, section 4.8.25), and only texts can be values: a
 * discriminator without them is removed. Variants whose values are booleans are not exclusive without their literals.
 */
function completeDiscriminators(value: unknown, schemas: Record<string, JsonSchema>): void {
  if (typeof value !== "object" || value === null) return;
  const json = value as JsonSchema;
  const { propertyName } = (json.discriminator ?? {}) as { propertyName?: string };
  if (typeof propertyName === "string" && Array.isArray(json.oneOf)) {
    const pairs = (json.oneOf as JsonSchema[]).flatMap((variant) => {
      const { $ref } = variant as { $ref?: string };
      const { properties } = $ref === undefined ? variant : schemas[$ref.slice(PREFIX.length)];
      const field = (properties as Record<string, JsonSchema> | undefined)?.[propertyName] ?? {};
      const values = field.enum as unknown[] | undefined ?? [field.const];
      return values.map((each) => [each, $ref] as const);
    });
    if (pairs.every(([each, $ref]) => typeof each === "string" && $ref !== undefined)) {
      json.discriminator = { propertyName, mapping: Object.fromEntries(pairs) };
    } else delete json.discriminator;
    if (pairs.some(([each]) => each === undefined)) {
      json.anyOf = json.oneOf;
      delete json.oneOf;
    }
  }
  for (const [key, inner] of Object.entries(json)) {
    if (!isData(key, inner)) completeDiscriminators(inner, schemas);
  }
}

/** A field may have such a name too: then it is described by an object. */
function isData(key: string, value: unknown): boolean {
  return DATA_KEYS.has(key) &&
    !(typeof value === "object" && value !== null && !Array.isArray(value) && "type" in value);
}
