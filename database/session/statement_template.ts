/**
 * Values that a statement gets at each call. While drizzle builds a statement, they are
 * placeholders.
 */
import { isKind } from "./drizzle_table.ts";

/** Values of a call by name. */
export type CallValues = Readonly<Record<string, unknown>>;

type ReadValue = (values: CallValues) => unknown;

/** A value that is not known while a statement is built. */
class Parameter {}

/**
 * The class of a parameter. drizzle encodes what a condition compares with a column by the column, but
 * not its own placeholders. So a parameter is an unknown object in a condition, and a placeholder while
 * drizzle writes the text: then drizzle keeps it with its encoder.
 */
let prototype: object = Parameter.prototype;

/** A parameter's name, and how its value is read. */
interface ParameterFacts {
  /** Name of the parameter, or of the column whose default it is. */
  readonly name: string;
  /** Name of the call's value; `undefined` for the default of a column. */
  readonly key: string | undefined;
  readonly read: ReadValue;
}

const parameters: WeakMap<object, ParameterFacts> = new WeakMap();

/** Properties that drizzle reads to find out what a value is. */
const READ_BY_DRIZZLE: ReadonlySet<PropertyKey> = new Set(["getSQL"]);

/**
 * Rejects what JavaScript does with a parameter, which has no value. A `Proxy`, because any property
 * may be read of a value.
 */
const NO_VALUE: ProxyHandler<Parameter> = {
  get(target, key) {
    if (READ_BY_DRIZZLE.has(key)) return undefined;
    // drizzle 1.0 keeps the kind of an object in its class
    if (typeof key === "symbol" && key.description?.startsWith("drizzle:")) {
      return Reflect.get(prototype, key);
    }
    throw createUseError(target);
  },
  getPrototypeOf: () => prototype,
  has(target) {
    throw createUseError(target);
  },
  ownKeys(target) {
    throw createUseError(target);
  },
  set(target) {
    throw createUseError(target);
  },
};

const namesByTarget: WeakMap<object, string> = new WeakMap();

function createUseError(target: object): ParameterUseError {
  return new ParameterUseError(namesByTarget.get(target) ?? "");
}

/** The error of an expression that needs the value of a parameter. */
export class ParameterUseError extends TypeError {
  /** Name of the parameter. */
  readonly parameter: string;

  /** @param parameter Name of the parameter. */
  constructor(parameter: string) {
    super(`p.${parameter} has no value while the statement is built`);
    this.name = "ParameterUseError";
    this.parameter = parameter;
  }
}

/**
 * Creates a value that is not known while a statement is built.
 *
 * @param name The name of the call's value.
 */
export function createParameter(name: string): object {
  return register({ name, key: name, read: (values) => values[name] });
}

/** Creates the value of a column's `$defaultFn` or `$onUpdateFn`, which runs at each call. */
function createGenerated(name: string, generate: () => unknown): object {
  return register({ name, key: undefined, read: generate });
}

function register(facts: ParameterFacts): object {
  const target = new Parameter();
  const parameter = new Proxy(target, NO_VALUE);
  namesByTarget.set(target, facts.name);
  parameters.set(parameter, facts);
  return parameter;
}

/** Returns the facts of a parameter, or `undefined` for another value. */
export function findParameter(value: unknown): ParameterFacts | undefined {
  return typeof value === "object" && value !== null ? parameters.get(value) : undefined;
}

/**
 * Runs the work in which drizzle writes the text of a statement.
 *
 * @param placeholder The prototype of drizzle's placeholders.
 * @param write The work.
 */
export function whileWriting<T>(placeholder: object, write: () => T): T {
  const before = prototype;
  prototype = placeholder;
  try {
    return write();
  } finally {
    prototype = before;
  }
}

let isTemplate = false;

/** Runs the work that builds a statement for many calls. */
export function buildingTemplate<T>(build: () => T): T {
  const before = isTemplate;
  isTemplate = true;
  try {
    return build();
  } finally {
    isTemplate = before;
  }
}

/** Returns true while a statement for many calls is built. */
export function isBuildingTemplate(): boolean {
  return isTemplate;
}

/** The parts of a column that give a value to rows which have none. */
interface GeneratingColumn {
  readonly name: string;
  readonly default: unknown;
  readonly defaultFn: (() => unknown) | undefined;
  readonly onUpdateFn: (() => unknown) | undefined;
}

/**
 * Returns the value that a column's own function gives to a new row; the function runs at each call.
 *
 * @returns The value, or `undefined` if the column has no function.
 */
export function generateForInsert(column: GeneratingColumn): object | undefined {
  const { name, defaultFn, onUpdateFn } = column;
  if (defaultFn !== undefined) return createGenerated(name, defaultFn);
  // as drizzle does: a default of the database wins
  return onUpdateFn === undefined || column.default ? undefined : createGenerated(name, onUpdateFn);
}

/** Returns the value that a column's own function gives to a changed row; the function runs at each call. */
export function generateForUpdate({ name, onUpdateFn }: GeneratingColumn): object | undefined {
  return onUpdateFn === undefined ? undefined : createGenerated(name, onUpdateFn);
}

/**
 * The signal that a value changes the text of the statement: an expression, or a list that drizzle
 * expands. The statement is then built for this call.
 */
export const CHANGES_TEXT: unique symbol = Symbol("changes the text");

/**
 * Reads a parameter for the driver.
 *
 * @param value A value without an encoder.
 */
export function checkRaw(value: unknown): unknown {
  if (Array.isArray(value) || isExpression(value)) throw CHANGES_TEXT;
  return value;
}

/**
 * Reads a parameter that a column encodes.
 *
 * @param value The value.
 * @param encode The column's encoder.
 */
export function checkEncoded(value: unknown, encode: (value: unknown) => unknown): unknown {
  if (value === null) return null;
  if (isExpression(value)) throw CHANGES_TEXT;
  const encoded = encode(value);
  if (isKind(encoded, "SQL")) throw CHANGES_TEXT;
  return encoded;
}

function isExpression(value: unknown): boolean {
  return typeof value === "object" && value !== null &&
    typeof (value as { getSQL?: unknown }).getSQL === "function";
}
