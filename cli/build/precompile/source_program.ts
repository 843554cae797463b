import type { $ZodType } from "zod/v4/core";
import { isKnownSchema } from "../../../validation/compile_schema.ts";
import { writeParser } from "../../../validation/compile/kinds.ts";
import {
  type Check,
  type Definition,
  Program,
  Unsupported,
} from "../../../validation/compile/program.ts";
import { getListKeys } from "../../../validation/list_keys.ts";
import { writeSourceCheck } from "./own_checks.ts";

/** A program without references to values of this process: all constants are part of its text. */
class SourceProgram extends Program {
  #constants = "";

  override constant(value: unknown): string {
    if (isSimple(value)) return renderPrimitive(value);
    const name = this.name();
    this.#constants += `const ${name}=${renderConstant(value)};`;
    return name;
  }

  override defaultValue({ defaultValue }: Definition): string {
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

  override ownCheck(check: Check, value: string): string {
    return writeSourceCheck(check, value, this);
  }

  /** The constants and functions. */
  get code(): string {
    return this.#constants + this.text;
  }
}

/**
 * Writes the module of a compiled schema.
 *
 * @param schema The schema. It contains no functions of the application.
 * @param runtime Specifier of `validation/precompiled_schema.ts`.
 * @param loader Specifier of the module that loads the schemas with zod.
 * @returns The code, or the reason why the schema is left to zod.
 */
export function writeSchemaModule(
  schema: $ZodType,
  key: string,
  { runtime, loader }: { readonly runtime: string; readonly loader: string },
): { readonly code: string } | { readonly reason: string } {
  if (!isKnownSchema(schema)) return { reason: "its version of zod is not supported" };
  const program = new SourceProgram();
  let main: string;
  try {
    main = program.define(schema, writeParser);
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    return { reason: "it has a type, a format or a check that only zod can parse" };
  }
  const listKeys = [...getListKeys(schema)];
  return {
    code: `import { ASK_ZOD, countCodePoints as COUNT, definePrecompiledSchema } from ${
      JSON.stringify(runtime)
    };
import { loadSchemas } from ${JSON.stringify(loader)};
${program.code}
export const schema = /* @__PURE__ */ definePrecompiledSchema({ parse: ${main}, listKeys: ${
      JSON.stringify(listKeys)
    }, load: () => loadSchemas().schemas[${JSON.stringify(key)}] });
`,
  };
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
