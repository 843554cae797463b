import type { $ZodType } from "zod/v4/core";
import { lengthCondition, writeChecks } from "./checks.ts";
import {
  type CheckDefinition,
  checksOf,
  definitionOf,
  type Program,
  unless,
  Unsupported,
  type Writer,
} from "./program.ts";

const WRITERS: Readonly<Record<string, Writer>> = {
  string: writeString,
  number: writeNumber,
  boolean: (schema, value, lines, program) => writeTypeof("boolean", schema, value, lines, program),
  null: (_schema, value, lines) => (lines.push(unless(`${value}===null`)), value),
  any: (_schema, value) => value,
  unknown: (_schema, value) => value,
  literal: writeValues,
  enum: writeValues,
  date: writeDate,
  optional: writeOptional,
  nullable: writeNullable,
  default: writeDefault,
  readonly: writeReadonly,
  array: writeArray,
  object: writeObject,
  record: writeRecord,
  union: writeUnion,
};

/** A schema that is deeper than this refers to itself. */
const MAX_DEPTH = 32;

/** The kinds whose own checks are known. */
const CHECKED: ReadonlySet<string> = new Set(["string", "number", "date", "array"]);

/** The kinds that may let `undefined` through; of the others it is known that they do not. */
const TAKES_UNDEFINED: ReadonlySet<string> = new Set(["any", "unknown", "literal", "nullable", "readonly", "union"]);

/** Writes the parser of any schema. */
export function writeParser(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const { type } = definitionOf(schema);
  const write = Object.hasOwn(WRITERS, type) ? WRITERS[type] : undefined;
  if (write === undefined || !CHECKED.has(type) && checksOf(schema).length > 0) throw new Unsupported();
  if (++program.depth > MAX_DEPTH) throw new Unsupported();
  const output = write(schema, value, lines, program);
  program.depth--;
  return output;
}

/** JSON and query strings hold no other values that could be converted. */
function writeCoercion(to: string, schema: $ZodType, value: string, lines: string[], program: Program): string {
  if (!definitionOf(schema).coerce) return value;
  if (program.mustDecide) throw new Unsupported();
  const converted = program.name();
  const given = program.name();
  lines.push(
    `const ${given}=typeof ${value};${unless(`${given}==="string"||${given}==="number"||${given}==="boolean"`)}`,
  );
  lines.push(`const ${converted}=${to}(${value});`);
  return converted;
}

function writeTypeof(type: string, schema: $ZodType, value: string, lines: string[], program: Program): string {
  const converted = writeCoercion(type[0].toUpperCase() + type.slice(1), schema, value, lines, program);
  lines.push(unless(`typeof ${converted}==="${type}"`));
  return converted;
}

function writeString(schema: $ZodType, value: string, lines: string[], program: Program): string {
  return writeChecks(schema, writeTypeof("string", schema, value, lines, program), lines, program);
}

function writeNumber(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const number = writeCoercion("Number", schema, value, lines, program);
  lines.push(unless(`Number.isFinite(${number})`));
  return writeChecks(schema, number, lines, program);
}

function writeDate(schema: $ZodType, value: string, lines: string[], program: Program): string {
  let date = value;
  if (definitionOf(schema).coerce) {
    if (program.mustDecide) throw new Unsupported();
    lines.push(unless(`typeof ${value}==="string"||typeof ${value}==="number"`));
    lines.push(`const ${date = program.name()}=new Date(${value});`);
  }
  lines.push(unless(`${date} instanceof Date&&!Number.isNaN(${date}.getTime())`));
  return writeChecks(schema, date, lines, program);
}

/** Values up to this many are compared one by one. */
const FEW = 8;

function writeValues(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const values = schema._zod.values!;
  const each = values.size <= FEW && [...values].every((one) => typeof one === "string");
  lines.push(unless(
    each
      ? [...values].map((one) => `${value}===${JSON.stringify(one)}`).join("||") || "false"
      : `${program.constant(values)}.has(${value})`,
  ));
  return value;
}

/** What stands for a value that is let through as it is, unless the condition holds. */
function writeWhere(
  condition: string,
  otherwise: string,
  inner: $ZodType,
  value: string,
  lines: string[],
  program: Program,
) {
  const output = program.name();
  const own: string[] = [];
  const result = writeParser(inner, value, own, program);
  lines.push(`let ${output}=${otherwise};if(${condition}){${own.join("")}${output}=${result};}`);
  return output;
}

function writeOptional(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const inner = definitionOf(schema).innerType!;
  if (schema._zod.traits.has("$ZodExactOptional") || inner._zod.optin === "defaulted") throw new Unsupported();
  return writeWhere(`${value}!==undefined`, value, inner, value, lines, program);
}

function writeNullable(schema: $ZodType, value: string, lines: string[], program: Program): string {
  return writeWhere(`${value}!==null`, value, definitionOf(schema).innerType!, value, lines, program);
}

function writeReadonly(schema: $ZodType, value: string, lines: string[], program: Program): string {
  // zod freezes also what does not fit, where another schema may take it
  if (program.mustDecide) throw new Unsupported();
  return `Object.freeze(${writeParser(definitionOf(schema).innerType!, value, lines, program)})`;
}

function writeDefault(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const inner = definitionOf(schema).innerType!;
  if (inner._zod.optin !== undefined) throw new Unsupported();
  const definition = program.constant(schema._zod.def);
  const output = writeWhere(`${value}!==undefined`, value, inner, value, lines, program);
  // read each time: it makes a copy, or calls the user's function
  lines.push(`if(${output}===undefined)${output}=${definition}.defaultValue;`);
  return output;
}

function writeArray(schema: $ZodType, value: string, lines: string[], program: Program): string {
  lines.push(unless(`Array.isArray(${value})`));
  // before the items: a list that is too long is not worth reading
  for (const { _zod: { def } } of checksOf(schema)) {
    const definition = def as CheckDefinition;
    if (!/^(?:m(?:in|ax)_length|length_equals)$/.test(definition.check)) throw new Unsupported();
    lines.push(unless(lengthCondition(definition, value, program, `${value}.length`)));
  }
  const [output, index, item] = [program.name(), program.name(), program.name()];
  const own: string[] = [];
  const result = writeParser(definitionOf(schema).element!, item, own, program);
  lines.push(
    `const ${output}=Array(${value}.length);for(let ${index}=0;${index}<${value}.length;${index}++){` +
      `const ${item}=${value}[${index}];${own.join("")}${output}[${index}]=${result};}`,
  );
  return output;
}

/** Of a plain object that came out of JSON or a query string; an instance of a class is left to zod. */
function isRecord(value: string): string {
  return `typeof ${value}==="object"&&${value}!==null&&!Array.isArray(${value})`;
}

function writeObject(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const { shape = {}, catchall } = definitionOf(schema);
  const keys = Object.keys(shape);
  if (keys.includes("__proto__") || Object.getOwnPropertySymbols(shape).length > 0) throw new Unsupported();
  lines.push(unless(isRecord(value)));
  const output = program.name();
  const first: string[] = [];
  const later: string[] = [];
  for (const key of keys) {
    const { optin, optout } = shape[key]._zod;
    const quoted = JSON.stringify(key);
    const field = program.name();
    const own: string[] = [`const ${field}=${value}[${quoted}];`];
    const result = writeParser(shape[key], field, own, program);
    const absent = `${field}===undefined&&!(${quoted} in ${value})`;
    if (optin === undefined || optin === "defaulted" && optout !== "optional") {
      if (optin === undefined && TAKES_UNDEFINED.has(definitionOf(shape[key]).type)) {
        own.push(`if(${absent})return ASK_ZOD;`);
      }
      lines.push(...own);
      if (later.length === 0) first.push(`${quoted}:${result}`);
      else later.push(`${output}[${quoted}]=${result};`);
    } else if (optin === "optional" && optout === "optional") {
      // an absent key stays absent, and the order of keys is the schema's
      const kept = program.name();
      lines.push(`let ${kept}=ASK_ZOD;`, own[0], `if(!(${absent})){${own.slice(1).join("")}${kept}=${result};}`);
      later.push(`if(${kept}!==ASK_ZOD)${output}[${quoted}]=${kept};`);
    } else throw new Unsupported();
  }
  lines.push(`const ${output}={${first.join(",")}};`, ...later, writeCatchall(catchall, keys, value, output, program));
  return output;
}

/** What becomes of keys that the shape does not name: nothing, a fault, or a copy. */
function writeCatchall(
  catchall: $ZodType | undefined,
  keys: readonly string[],
  value: string,
  output: string,
  program: Program,
): string {
  if (catchall === undefined) return "";
  const { type } = definitionOf(catchall);
  if (type !== "never" && type !== "unknown" || checksOf(catchall).length > 0) throw new Unsupported();
  const key = program.name();
  const action = type === "never" ? "return ASK_ZOD;" : `if(${key}!=="__proto__")${output}[${key}]=${value}[${key}];`;
  return `for(const ${key} in ${value})if(!${program.constant(new Set(keys))}.has(${key})){${action}}`;
}

function writeRecord(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const { keyType, valueType, mode, partial } = definitionOf(schema);
  const { type, coerce } = definitionOf(keyType!);
  const anyText = type === "string" && !coerce && checksOf(keyType!).length === 0;
  if (!anyText || mode !== undefined || partial || program.mustDecide) throw new Unsupported();
  const [output, key, item] = [program.name(), program.name(), program.name()];
  const own: string[] = [];
  const result = writeParser(valueType!, item, own, program);
  lines.push(
    unless(`${isRecord(value)}&&Object.getPrototypeOf(${value})===Object.prototype`),
    unless(`Object.getOwnPropertySymbols(${value}).length===0`),
    `const ${output}={};for(const ${key} of Object.keys(${value})){if(${key}==="__proto__")continue;` +
      `const ${item}=${value}[${key}];${own.join("")}${output}[${key}]=${result};}`,
  );
  return output;
}

function writeUnion(schema: $ZodType, value: string, lines: string[], program: Program): string {
  const { options = [], discriminator, unionFallback } = definitionOf(schema);
  if (schema._zod.traits.has("$ZodXor")) throw new Unsupported();
  const output = program.name();
  if (discriminator !== undefined) {
    if (unionFallback) throw new Unsupported();
    const parsers = program.name();
    const tags = new Set<unknown>();
    const entries = options.flatMap((option) => {
      const parser = program.define(option, writeParser);
      return [...option._zod.propValues![discriminator]].map((tag) => {
        if (tags.has(tag)) throw new Unsupported();
        tags.add(tag);
        return `[${program.constant(tag)},${parser}]`;
      });
    });
    program.text += `const ${parsers}=new Map([${entries.join(",")}]);`;
    lines.push(
      unless(`${isRecord(value)}&&${parsers}.has(${value}[${JSON.stringify(discriminator)}])`),
      `const ${output}=${parsers}.get(${value}[${JSON.stringify(discriminator)}])(${value});`,
      `if(${output}===ASK_ZOD)return ASK_ZOD;`,
    );
    return output;
  }
  const { mustDecide } = program;
  program.mustDecide = true;
  const parsers = options.map((option) => program.define(option, writeParser));
  program.mustDecide = mustDecide;
  const tries = parsers.map((parser) => `if(${output}===ASK_ZOD)${output}=${parser}(${value});`).join("");
  lines.push(`let ${output}=ASK_ZOD;${tries}if(${output}===ASK_ZOD)return ASK_ZOD;`);
  return output;
}
