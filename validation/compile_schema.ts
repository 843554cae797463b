import { type $ZodType, config } from "zod/v4/core";
import { writeParser } from "./compile/kinds.ts";
import { Program } from "./compile/program.ts";
import { ASK_ZOD, countCodePoints, type FastParser } from "./precompiled_schema.ts";

/** The zod whose parsers were read: another one may mean something else by the same definition. */
const KNOWN_VERSION = { major: 4, minor: 6 };

/**
 * Writes straight-line code for a schema's valid path: what zod gives for a value that fits, in a tenth of the time.
 * It knows the kinds that requests are made of, and only those that run no code of the application; of every other schema, and of
 * every value that does not fit, zod alone decides. Asynchrony cannot arise here.
 *
 * @param schema A schema of zod or zod/mini.
 * @returns The parser, or `undefined` when the schema holds anything unknown, was compiled by zod itself, or when code
 * must not be made here (`jitless`, a content security policy).
 */
export function compileSchema(schema: $ZodType): FastParser | undefined {
  if (config().jitless || !isKnownSchema(schema)) return undefined;
  try {
    const program = new Program();
    const main = program.define(schema, writeParser);
    const { names, values } = program;
    const make = new Function("ASK_ZOD", "COUNT", ...names, `${program.text}return ${main};`);
    return make(ASK_ZOD, countCodePoints, ...values) as FastParser;
  } catch {
    return undefined;
  }
}

/** Returns true for a schema of the zod whose parsers were read, unless zod has compiled it itself. */
export function isKnownSchema({ _zod: { version, bag } }: $ZodType): boolean {
  return version.major === KNOWN_VERSION.major &&
    (version.minor as number) === KNOWN_VERSION.minor && bag.validator === undefined;
}
