import type { $ZodType } from "zod/v4/core";
import { getListKeys } from "../../../validation/list_keys.ts";
import { writeParser } from "./kinds.ts";
import { Program, Unsupported } from "./program.ts";

/** The zod whose parsers were read: another one may mean something else by the same definition. */
const KNOWN_VERSION = { major: 4, minor: 6 };

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
  const parser = writeSchemaParser(schema);
  if ("reason" in parser) return parser;
  const listKeys = [...getListKeys(schema)];
  return {
    code: `import { ASK_ZOD, countCodePoints as COUNT, definePrecompiledSchema } from ${
      JSON.stringify(runtime)
    };
import { loadSchemas } from ${JSON.stringify(loader)};
${parser.code}
export const schema = /* @__PURE__ */ definePrecompiledSchema({ parse: ${parser.name}, listKeys: ${
      JSON.stringify(listKeys)
    }, load: () => loadSchemas().schemas[${JSON.stringify(key)}] });
`,
  };
}

/**
 * Writes straight-line code for a schema's valid path: what zod gives for a value that fits. It knows the kinds that requests are
 * made of, and only those that run no code of the application; of every other schema, and of every value that does not fit, zod
 * alone decides. Asynchrony cannot arise here.
 *
 * @param schema The schema.
 * @returns The code, which uses `ASK_ZOD` and `COUNT`, and the name of its parser; or the reason why the schema is left to zod.
 */
export function writeSchemaParser(
  schema: $ZodType,
): { readonly code: string; readonly name: string } | { readonly reason: string } {
  const { version, bag } = schema._zod;
  const isKnown = version.major === KNOWN_VERSION.major &&
    (version.minor as number) === KNOWN_VERSION.minor;
  if (!isKnown) return { reason: "its version of zod is not supported" };
  if (bag.validator !== undefined) return { reason: "zod has compiled it itself" };
  const program = new Program();
  try {
    const name = program.define(schema, writeParser);
    return { code: program.code, name };
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    return { reason: "it has a type, a format or a check that only zod can parse" };
  }
}
