import type { $ZodType } from "zod/v4/core";

/** The parts of definitions that are read here. */
export interface Definition {
  type: string;
  checks?: readonly Check[];
  coerce?: boolean;
  innerType?: $ZodType;
  defaultValue?: unknown;
  element?: $ZodType;
  options?: readonly $ZodType[];
  discriminator?: string;
  unionFallback?: boolean;
  shape?: Readonly<Record<string, $ZodType>>;
  catchall?: $ZodType;
  keyType?: $ZodType;
  valueType?: $ZodType;
  partial?: boolean;
  mode?: string;
}

export interface CheckDefinition {
  check: string;
  format?: string;
  pattern?: RegExp;
  minimum?: number;
  maximum?: number;
  length?: number;
  value?: unknown;
  inclusive?: boolean;
  when?: unknown;
  tx?: unknown;
}

export interface Check {
  _zod: { def: unknown; traits?: ReadonlySet<string>; check(payload: unknown): unknown };
}

/** Leaves a schema to zod. */
export class Unsupported extends Error {
  /** @param part The part that only zod can parse. */
  constructor(readonly part = "a type, a format or a check") {
    super();
  }
}

/** Writes the code that checks the variable `value`, and gives the expression of the output. */
export type Writer = (schema: $ZodType, value: string, program: Program) => string;

/** The code of one schema, without references to values of this process: all constants are part of its text. */
export class Program {
  /** True inside a union, where a parser must not leave a valid value to zod. */
  mustDecide = false;
  /** Depth of nested schemas. */
  depth = 0;
  #code = "";
  #count = 0;
  #constants = "";
  /** The functions that are complete. */
  text = "";

  /** Returns a constant as text, or the name of one that is written once. */
  constant(value: unknown): string {
    if (isSimple(value)) return renderPrimitive(value);
    const name = this.name();
    this.#constants += `const ${name}=${renderConstant(value)};`;
    return name;
  }

  /** Returns the expression of a default value, which zod copies each time. */
  defaultValue({ defaultValue }: Definition): string {
    if (isSimple(defaultValue)) return renderPrimitive(defaultValue);
    // zod copies one level: the members must not be shared objects
    if (Array.isArray(defaultValue)) return renderList(defaultValue);
    if (!isPlainObject(defaultValue)) throw new Unsupported();
    const members = Object.entries(defaultValue).map(([key, value]) => {
      if (key === "__proto__") throw new Unsupported();
      return `${JSON.stringify(key)}:${renderPrimitive(value)}`;
    });
    return `{${members}}`;
  }

  /** The constants and functions. */
  get code(): string {
    return this.#constants + this.text;
  }

  name(): string {
    return `v${this.#count++}`;
  }

  /** Adds code to the function, or the block, that is being written. */
  add(code: string): void {
    this.#code += code;
  }

  /** Leaves to zod what does not meet a condition. */
  demand(condition: string): void {
    this.add(`if(!(${condition}))return ASK_ZOD;`);
  }

  /** The code that a piece of work adds, and what it gives. */
  block(write: () => string): [code: string, output: string] {
    const outer = this.#code;
    this.#code = "";
    const output = write();
    const code = this.#code;
    this.#code = outer;
    return [code, output];
  }

  /** Writes a function that parses its argument, and gives its name. */
  define(schema: $ZodType, write: Writer): string {
    const name = this.name();
    const value = this.name();
    const [code, output] = this.block(() => write(schema, value, this));
    // in parentheses the engine compiles it at once, and does not read it twice
    this.text += `const ${name}=(function(${value}){${code}return ${output};});`;
    return name;
  }
}

export function getDefinition(schema: $ZodType): Definition {
  return schema._zod.def as Definition;
}

/** A schema's checks in zod's order: a format such as `z.email()` is its own first. */
export function getChecks(schema: $ZodType): Check[] {
  const own = schema._zod.traits.has("$ZodCheck") ? [schema as $ZodType & Check] : [];
  return [...own, ...getDefinition(schema).checks ?? []];
}

function isSimple(value: unknown): value is number | string | boolean | null | undefined | bigint {
  return value === null ||
    ["number", "string", "boolean", "undefined", "bigint"].includes(typeof value);
}

function renderPrimitive(value: unknown): string {
  if (!isSimple(value)) throw new Unsupported();
  if (value === undefined) return "void 0";
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  return JSON.stringify(value);
}

function renderConstant(value: unknown): string {
  // the constructor, so that the pattern is the same in every version of the language
  if (value instanceof RegExp) {
    return `new RegExp(${JSON.stringify(value.source)},${JSON.stringify(value.flags)})`;
  }
  if (value instanceof Set) return `new Set(${renderList([...value])})`;
  throw new Unsupported();
}

function renderList(values: readonly unknown[]): string {
  return `[${Array.from(values, renderPrimitive)}]`;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.getOwnPropertySymbols(value).length === 0;
}
