import type { $ZodType } from "zod/v4/core";
import { lengthCondition, writeChecks } from "./checks.ts";
import {
  type CheckDefinition,
  getChecks,
  getDefinition,
  type Program,
  Unsupported,
  type Writer,
} from "./program.ts";

const WRITERS: Readonly<Record<string, Writer>> = {
  string: writeString,
  number: writeNumber,
  boolean: (schema, value, program) => writeTypeof("Boolean", schema, value, program),
  null: (_schema, value, program) => (program.demand(`${value}===null`), value),
  undefined: (_schema, value, program) => (program.demand(`${value}===void 0`), value),
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
const TAKES_UNDEFINED: ReadonlySet<string> = new Set([
  "undefined",
  "any",
  "unknown",
  "literal",
  "nullable",
  "readonly",
  "union",
]);

/** Writes the parser of any schema. */
export function writeParser(schema: $ZodType, value: string, program: Program): string {
  const { type } = getDefinition(schema);
  const write = Object.hasOwn(WRITERS, type) ? WRITERS[type] : undefined;
  if (write === undefined) throw new Unsupported(`the type ${type}`);
  if (!CHECKED.has(type) && getChecks(schema).length > 0) throw new Unsupported();
  if (++program.depth > MAX_DEPTH) throw new Unsupported();
  const output = write(schema, value, program);
  program.depth--;
  return output;
}

/** A schema that only zod can check, or that changes the value, cannot be among the schemas that are tried in turn. */
function refuseAmongOthers({ mustDecide }: Program): void {
  if (mustDecide) throw new Unsupported();
}

/** JSON and query strings hold no other values that could be converted. */
function writeCoercion(to: string, schema: $ZodType, value: string, program: Program): string {
  if (!getDefinition(schema).coerce) return value;
  refuseAmongOthers(program);
  const converted = program.name();
  const given = program.name();
  program.add(`const ${given}=typeof ${value};`);
  program.demand(["string", "number", "boolean"].map((type) => `${given}==="${type}"`).join("||"));
  program.add(`const ${converted}=${to}(${value});`);
  return converted;
}

function writeTypeof(
  constructor: string,
  schema: $ZodType,
  value: string,
  program: Program,
): string {
  const converted = writeCoercion(constructor, schema, value, program);
  program.demand(`typeof ${converted}==="${constructor.toLowerCase()}"`);
  return converted;
}

function writeString(schema: $ZodType, value: string, program: Program): string {
  return writeChecks(schema, writeTypeof("String", schema, value, program), program);
}

function writeNumber(schema: $ZodType, value: string, program: Program): string {
  const number = writeCoercion("Number", schema, value, program);
  program.demand(`Number.isFinite(${number})`);
  return writeChecks(schema, number, program);
}

function writeDate(schema: $ZodType, value: string, program: Program): string {
  let date = value;
  if (getDefinition(schema).coerce) {
    refuseAmongOthers(program);
    program.demand(`typeof ${value}==="string"||typeof ${value}==="number"`);
    program.add(`const ${date = program.name()}=new Date(${value});`);
  }
  program.demand(`${date} instanceof Date&&!Number.isNaN(${date}.getTime())`);
  return writeChecks(schema, date, program);
}

/** Values up to this many are compared one by one. */
const FEW = 8;

function writeValues(schema: $ZodType, value: string, program: Program): string {
  const values = schema._zod.values!;
  const each = values.size <= FEW && [...values].every((one) => typeof one === "string");
  program.demand(
    each
      ? [...values].map((one) => `${value}===${JSON.stringify(one)}`).join("||") || "false"
      : `${program.constant(values)}.has(${value})`,
  );
  return value;
}

/** Writes the parser of a value that lets the exception through unchanged. */
function writeUnless(exception: string, schema: $ZodType, value: string, program: Program): string {
  const output = program.name();
  const inner = getDefinition(schema).innerType!;
  const [code, result] = program.block(() => writeParser(inner, value, program));
  program.add(`let ${output}=${value};if(${value}!==${exception}){${code}${output}=${result};}`);
  return output;
}

function writeOptional(schema: $ZodType, value: string, program: Program): string {
  const { optin } = getDefinition(schema).innerType!._zod;
  if (schema._zod.traits.has("$ZodExactOptional") || optin === "defaulted") throw new Unsupported();
  return writeUnless("undefined", schema, value, program);
}

function writeNullable(schema: $ZodType, value: string, program: Program): string {
  return writeUnless("null", schema, value, program);
}

function writeReadonly(schema: $ZodType, value: string, program: Program): string {
  // zod freezes also what does not fit, where another schema may take it
  refuseAmongOthers(program);
  return `Object.freeze(${writeParser(getDefinition(schema).innerType!, value, program)})`;
}

function writeDefault(schema: $ZodType, value: string, program: Program): string {
  if (getDefinition(schema).innerType!._zod.optin !== undefined) throw new Unsupported();
  const defaultValue = program.defaultValue(getDefinition(schema));
  const output = writeUnless("undefined", schema, value, program);
  // read each time: it makes a copy, or calls the user's function
  program.add(`if(${output}===undefined)${output}=${defaultValue};`);
  return output;
}

function writeArray(schema: $ZodType, value: string, program: Program): string {
  program.demand(`Array.isArray(${value})`);
  // before the items: a list that is too long is not worth reading
  for (const { _zod: { def } } of getChecks(schema)) {
    const definition = def as CheckDefinition;
    if (!/^(?:m(?:in|ax)_length|length_equals)$/.test(definition.check)) throw new Unsupported();
    program.demand(lengthCondition(definition, value, program, `${value}.length`));
  }
  const [output, index, item] = [program.name(), program.name(), program.name()];
  const [code, result] = program.block(() =>
    writeParser(getDefinition(schema).element!, item, program)
  );
  program.add(
    `const ${output}=Array(${value}.length);for(let ${index}=0;${index}<${value}.length;${index}++){` +
      `const ${item}=${value}[${index}];${code}${output}[${index}]=${result};}`,
  );
  return output;
}

/** Of a plain object that came out of JSON or a query string; an instance of a class is left to zod. */
function isRecord(value: string): string {
  return `typeof ${value}==="object"&&${value}!==null&&!Array.isArray(${value})`;
}

function writeObject(schema: $ZodType, value: string, program: Program): string {
  const { shape = {}, catchall } = getDefinition(schema);
  const keys = Object.keys(shape);
  if (keys.includes("__proto__") || Object.getOwnPropertySymbols(shape).length > 0) {
    throw new Unsupported();
  }
  program.demand(isRecord(value));
  const output = program.name();
  let first = "", later = "";
  for (const key of keys) {
    const { optin, optout } = shape[key]._zod;
    const quoted = JSON.stringify(key);
    const field = program.name();
    const [code, result] = program.block(() => writeParser(shape[key], field, program));
    const absent = `${field}===undefined&&!(${quoted} in ${value})`;
    program.add(`const ${field}=${value}[${quoted}];`);
    if (optin === undefined || optin === "defaulted" && optout !== "optional") {
      program.add(code);
      if (optin === undefined && TAKES_UNDEFINED.has(getDefinition(shape[key]).type)) {
        program.demand(`!(${absent})`);
      }
      if (later === "") first += `${quoted}:${result},`;
      else later += `${output}[${quoted}]=${result};`;
    } else if (optin === "optional" && optout === "optional") {
      // an absent key stays absent, and the order of keys is the schema's
      const kept = program.name();
      program.add(`let ${kept}=ASK_ZOD;if(!(${absent})){${code}${kept}=${result};}`);
      later += `if(${kept}!==ASK_ZOD)${output}[${quoted}]=${kept};`;
    } else throw new Unsupported();
  }
  program.add(`const ${output}={${first}};${later}`);
  if (catchall !== undefined) program.add(catchallCode(catchall, keys, value, output, program));
  return output;
}

/** Returns code for keys that are not in the shape: an error, or a copy. */
function catchallCode(
  catchall: $ZodType,
  keys: readonly string[],
  value: string,
  output: string,
  program: Program,
): string {
  const { type } = getDefinition(catchall);
  if (type !== "never" && type !== "unknown" || getChecks(catchall).length > 0) {
    throw new Unsupported();
  }
  const key = program.name();
  const action = type === "never"
    ? "return ASK_ZOD;"
    : `if(${key}!=="__proto__")${output}[${key}]=${value}[${key}];`;
  return `for(const ${key} in ${value})if(!${
    program.constant(new Set(keys))
  }.has(${key})){${action}}`;
}

function writeRecord(schema: $ZodType, value: string, program: Program): string {
  const { keyType, valueType, mode, partial } = getDefinition(schema);
  const { type, coerce } = getDefinition(keyType!);
  const anyText = type === "string" && !coerce && getChecks(keyType!).length === 0;
  if (!anyText || mode !== undefined || partial || program.mustDecide) throw new Unsupported();
  const [output, key, item] = [program.name(), program.name(), program.name()];
  const [code, result] = program.block(() => writeParser(valueType!, item, program));
  program.demand(
    `${isRecord(value)}&&Object.getPrototypeOf(${value})===Object.prototype&&` +
      `Object.getOwnPropertySymbols(${value}).length===0`,
  );
  program.add(
    `const ${output}={};for(const ${key} of Object.keys(${value})){if(${key}==="__proto__")continue;` +
      `const ${item}=${value}[${key}];${code}${output}[${key}]=${result};}`,
  );
  return output;
}

function writeUnion(schema: $ZodType, value: string, program: Program): string {
  const { options = [], discriminator, unionFallback } = getDefinition(schema);
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
    program.text += `const ${parsers}=new Map([${entries}]);`;
    const tag = `${value}[${JSON.stringify(discriminator)}]`;
    program.demand(`${isRecord(value)}&&${parsers}.has(${tag})`);
    program.add(`const ${output}=${parsers}.get(${tag})(${value});`);
  } else {
    const { mustDecide } = program;
    program.mustDecide = true;
    const parsers = options.map((option) => program.define(option, writeParser));
    program.mustDecide = mustDecide;
    const tries = parsers.map((parser) => `if(${output}===ASK_ZOD)${output}=${parser}(${value});`);
    program.add(`let ${output}=ASK_ZOD;${tries.join("")}`);
  }
  program.demand(`${output}!==ASK_ZOD`);
  return output;
}
