import { is, Param, Placeholder } from "drizzle-orm";
import { checkEncoded, checkRaw, findParameter } from "./statement_template.ts";

/** Values for the placeholders of a statement, by name. */
export type PlaceholderValues = Readonly<Record<string, unknown>>;

type ReadParameter = (values: PlaceholderValues) => unknown;

/**
 * Creates the function that fills the placeholders of a statement. It looks up the class of each
 * parameter once, where drizzle's `fillPlaceholders` does so on every run. A null is sent as NULL,
 * as drizzle does for values without a placeholder.
 *
 * @param params The statement's parameters.
 * @returns Returns the values that are sent. Throws if the value of a placeholder is missing.
 */
export function createPlaceholderFiller(
  params: readonly unknown[],
): (values: PlaceholderValues) => unknown[] {
  const readers = params.map(createReader);
  return (values) => readers.map((read) => read(values));
}

function createReader(param: unknown): ReadParameter {
  const { read } = findParameter(is(param, Param) ? param.value : param) ?? {};
  if (read !== undefined) {
    if (!is(param, Param)) return (values) => checkRaw(read(values));
    return (values) => checkEncoded(read(values), (value) => encode(param, value));
  }
  if (is(param, Placeholder)) return (values) => getValue(values, param.name);
  if (!is(param, Param) || !is(param.value, Placeholder)) return () => param;
  const { value: { name } } = param;
  return function readEncoded(values) {
    const value = getValue(values, name);
    return value === null ? null : encode(param, value);
  };
}

/** Encodes a value; drizzle 1.0 sets a codec while it writes the text. */
function encode(param: Param & { codec?: (value: unknown) => unknown }, value: unknown): unknown {
  const encoded = param.encoder.mapToDriverValue(value);
  return param.codec === undefined ? encoded : param.codec(encoded);
}

function getValue(values: PlaceholderValues, name: string): unknown {
  if (name in values) return values[name];
  throw new Error(`No value for placeholder "${name}" was provided`);
}
