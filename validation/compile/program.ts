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
export class Unsupported extends Error {}

/** Writes the code that checks the variable `value`, and gives the expression of the output. */
export type Writer = (schema: $ZodType, value: string, program: Program) => string;

/** The code of one schema: functions, and the values that they refer to by name. */
export class Program {
  /** The functions that are complete. */
  text = "";
  readonly names: string[] = [];
  readonly values: unknown[] = [];
  /** True inside a union, where a parser must not leave a valid value to zod. */
  mustDecide = false;
  /** Depth of nested schemas. */
  depth = 0;
  #code = "";
  #count = 0;

  /** Returns a number as text, and a name for any other value of this program. */
  constant(value: unknown): string {
    if (typeof value === "number") return String(value);
    const name = this.name();
    this.names.push(name);
    this.values.push(value);
    return name;
  }

  /** Returns the expression of a default value, which zod copies or computes each time. */
  defaultValue(definition: Definition): string {
    return `${this.constant(definition)}.defaultValue`;
  }

  /**
   * Writes a check that is built into zod and runs no code of the application, and gives the
   * expression of the value after it.
   */
  ownCheck({ _zod }: Check, value: string): string {
    const payload = this.name();
    this.add(
      `const ${payload}={value:${value},issues:[]};${this.constant(_zod.check)}(${payload});`,
    );
    this.demand(`${payload}.issues.length===0`);
    return `${payload}.value`;
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
