import type { $ZodType } from "zod/v4/core";
import type { ValidationResult, Validator } from "./validation_result.ts";

/** Result of a compiled parser that leaves the decision to zod. */
export const ASK_ZOD: unique symbol = Symbol("ask zod");

/** A schema's parser for values that fit: the output, or {@link ASK_ZOD}. */
export type FastParser = (value: unknown) => unknown;

/** Counts code points; generated code calls it `COUNT`. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The module with zod and the schemas of a function, which is loaded when it is first needed. */
export interface SchemaModule {
  /** Schemas by key. */
  readonly schemas: Readonly<Record<string, $ZodType>>;
  readonly createValidator: <T>(schema: $ZodType<T>) => Validator<T>;
  /** Creates the validator of the values that a compiled parser leaves to zod. */
  readonly createFallbackValidator: <T>(schema: $ZodType<T>) => Validator<T>;
  readonly validateSchema: <T>(schema: $ZodType<T>, data: unknown) => ValidationResult<T>;
  readonly validateSchemaAsync: <T>(
    schema: $ZodType<T>,
    data: unknown,
  ) => Promise<ValidationResult<T>>;
  readonly getListKeys: (schema: $ZodType | undefined) => ReadonlySet<string>;
}

/** A schema that was compiled when the function was built. */
export interface PrecompiledParts {
  /** Parses values that fit. */
  readonly parse: FastParser;
  /** Fields that expect an array. */
  readonly listKeys: readonly string[];
  /** Returns the schema itself. */
  readonly load: () => $ZodType;
}

const PARTS = Symbol("parts");

/** The members of zod's schemas that handlers, queues and variables use. */
interface ZodMembers {
  readonly "~standard": {
    validate(value: unknown, ...options: unknown[]): unknown;
    readonly jsonSchema?: unknown;
  };
  parse(value: unknown, ...parameters: unknown[]): unknown;
  safeParse(value: unknown, ...parameters: unknown[]): unknown;
  safeParseAsync(value: unknown, ...parameters: unknown[]): Promise<unknown>;
}

/**
 * Creates a schema that was compiled ahead of time. It accepts values without zod. Everything else,
 * such as the issues of a value that does not fit, comes from the schema itself, which is then
 * loaded. It is a `Proxy`, because zod and applications read any member of a schema.
 *
 * @param parts The parser, and how the schema is loaded.
 * @returns A schema that behaves like the loaded one.
 */
export function definePrecompiledSchema(parts: PrecompiledParts): $ZodType {
  let schema: $ZodType | undefined;
  const load = (): $ZodType => schema ??= parts.load();
  const own: Record<PropertyKey, unknown> = {
    [PARTS]: { ...parts, load },
    ...fastMembers(parts, load),
  };
  return new Proxy({} as $ZodType, {
    get: (_, key) => Object.hasOwn(own, key) ? own[key] : Reflect.get(load(), key),
    set: (_, key, value) => Reflect.set(load(), key, value),
    has: (_, key) => key === "_zod" || Reflect.has(load(), key),
    getPrototypeOf: () => Reflect.getPrototypeOf(load()),
    ownKeys: () => Reflect.ownKeys(load()),
    getOwnPropertyDescriptor: (_, key) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(load(), key);
      // a proxy may report a member as fixed only if its target has it
      return descriptor && { ...descriptor, configurable: true };
    },
  });
}

/** Creates the members that accept a value without zod. */
function fastMembers(parts: PrecompiledParts, load: () => $ZodType): ZodMembers {
  const getMembers = () => load() as $ZodType & ZodMembers;
  /** Parses a value; parameters such as other messages are left to zod. */
  const parse = (value: unknown, parameters: unknown[]) =>
    parameters.length === 0 ? parts.parse(value) : ASK_ZOD;
  return {
    "~standard": {
      ...{ version: 1, vendor: "zod" },
      validate(value, ...parameters) {
        const output = parse(value, parameters);
        return output === ASK_ZOD
          ? getMembers()["~standard"].validate(value, ...parameters)
          : { value: output };
      },
      get jsonSchema() {
        return getMembers()["~standard"].jsonSchema;
      },
    },
    parse(value, ...parameters) {
      const output = parse(value, parameters);
      return output === ASK_ZOD ? getMembers().parse(value, ...parameters) : output;
    },
    safeParse(value, ...parameters) {
      const output = parse(value, parameters);
      return output === ASK_ZOD
        ? getMembers().safeParse(value, ...parameters)
        : { success: true, data: output };
    },
    safeParseAsync(value, ...parameters) {
      const output = parse(value, parameters);
      return output === ASK_ZOD
        ? getMembers().safeParseAsync(value, ...parameters)
        : Promise.resolve({ success: true, data: output });
    },
  };
}

function getParts(schema: $ZodType | undefined): PrecompiledParts | undefined {
  return (schema as { [PARTS]?: PrecompiledParts } | undefined)?.[PARTS];
}

/**
 * Creates the validation of a bundle without zod. The functions replace those of the same names in
 * `schema.ts`.
 *
 * @param load Loads the module with zod.
 * @returns The functions.
 */
export function createPrecompiledValidation(
  load: () => SchemaModule,
): Omit<SchemaModule, "schemas" | "createFallbackValidator"> {
  return {
    createValidator<T>(schema: $ZodType<T>): Validator<T> {
      const parts = getParts(schema);
      if (parts === undefined) return load().createValidator(schema);
      let validate: Validator<T> | undefined;
      return (data, length) => {
        const output = parts.parse(data);
        if (output !== ASK_ZOD) return { success: true, data: output as T };
        validate ??= load().createFallbackValidator(parts.load() as $ZodType<T>);
        return validate(data, length);
      };
    },
    validateSchema<T>(schema: $ZodType<T>, data: unknown): ValidationResult<T> {
      return accept(schema, data) ?? load().validateSchema(getSchema(schema), data);
    },
    async validateSchemaAsync<T>(schema: $ZodType<T>, data: unknown): Promise<ValidationResult<T>> {
      return accept(schema, data) ?? await load().validateSchemaAsync(getSchema(schema), data);
    },
    getListKeys(schema) {
      const keys = getParts(schema)?.listKeys;
      return keys === undefined ? load().getListKeys(schema) : new Set(keys);
    },
  };
}

/** Returns the result for a value that fits a compiled schema. */
function accept<T>(schema: $ZodType<T>, data: unknown): ValidationResult<T> | undefined {
  const output = getParts(schema)?.parse(data) ?? ASK_ZOD;
  return output === ASK_ZOD ? undefined : { success: true, data: output as T };
}

function getSchema<T>(schema: $ZodType<T>): $ZodType<T> {
  return (getParts(schema)?.load() ?? schema) as $ZodType<T>;
}
