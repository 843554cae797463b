import {
  $ZodAsyncError,
  type $ZodErrorClass,
  type $ZodIssue,
  type $ZodType,
  _safeParse,
  _safeParseAsync,
  type ParsePayload,
} from "zod/v4/core";
import { ASK_ZOD, compileSchema, type FastParser } from "./compile_schema.ts";

/** In place of zod's error, whose making costs a tenth of a failed parse, and of which only the issues are read. */
class IssueList {
  readonly issues: readonly $ZodIssue[];

  constructor(issues: readonly $ZodIssue[]) {
    this.issues = issues;
  }
}

const safeParse = _safeParse(IssueList as unknown as $ZodErrorClass);

/** What validating gives: the parsed and coerced payload, or messages by field. Check `success` first. */
export type ValidationResult<T = unknown> =
  | { success: true; data: T; errors?: undefined }
  | { success: false; data?: undefined; errors: Record<string, string[]> };

/** The key of messages that belong to the whole input. */
const FORM_KEY = "_form";

/**
 * Validates a value.
 *
 * @param schema A schema of zod or zod/mini that validates synchronously.
 * @param data Anything.
 * @returns The parsed value, or messages by field in dotted paths (`items.0.sku`), `_form` for the whole input.
 * @throws {TypeError} When the schema validates asynchronously: use {@link validateSchemaAsync}.
 *
 * @example
 * ```ts
 * import { validateSchema } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const Note = z.object({ title: z.string().min(1) });
 * const result = validateSchema(Note, { title: "" });
 * console.log(result.success, result.errors?.title.length); // false 1
 * ```
 */
export function validateSchema<T>(schema: $ZodType<T>, data: unknown): ValidationResult<T> {
  try {
    return toResult(safeParse(schema, data));
  } catch (cause) {
    if (cause instanceof $ZodAsyncError) {
      throw new TypeError("The schema validates asynchronously: use validateSchemaAsync", {
        cause,
      });
    }
    throw cause;
  }
}

/**
 * Validates a value with a schema that may be asynchronous.
 *
 * @param schema A schema of zod or zod/mini.
 * @param data Anything.
 * @returns As {@link validateSchema}.
 */
export async function validateSchemaAsync<T>(
  schema: $ZodType<T>,
  data: unknown,
): Promise<ValidationResult<T>> {
  return toResult(await _safeParseAsync(IssueList as unknown as $ZodErrorClass)(schema, data));
}

/**
 * A schema's parser: synchronous as long as the schema is. Until one value has passed it is not known whether the
 * schema ever has to wait, and asking zod's synchronous parser would leave the promise of an asynchronous refinement
 * to nobody: when that rejects, the process ends. A schema that can be compiled runs nobody's code, and never waits.
 *
 * @param schema The schema.
 * @returns Validates a value; `length` is that of the text that it was read from, where there is one.
 */
export function createValidator<T>(
  schema: $ZodType<T>,
): (data: unknown, length?: number) => ValidationResult<T> | Promise<ValidationResult<T>> {
  let mode: "unused" | "undecided" | "synchronous" | "asynchronous" = "unused";
  let parseFast: FastParser | undefined;

  function parseAsynchronously(data: unknown): Promise<ValidationResult<T>> {
    mode = "asynchronous";
    return runAsynchronously(schema, data).catch((error) => oversizeError(error, data));
  }

  return function validate(
    data: unknown,
    length = Infinity,
  ): ValidationResult<T> | Promise<ValidationResult<T>> {
    if (mode === "asynchronous") return parseAsynchronously(data);
    try {
      if (mode === "unused") {
        // with the first value: a schema may refer to one further down in its module, and zod's own first parse costs more
        parseFast = compileSchema(schema);
        mode = parseFast === undefined ? "undecided" : "synchronous";
      }
      if (parseFast !== undefined) {
        const value = parseFast(data);
        if (value !== ASK_ZOD) return { success: true, data: value as T };
      }
      if (mode === "undecided") {
        // neither synchronous nor asynchronous is asked for: it waits only where it has to
        const payload = schema._zod.run({ value: data, issues: [] }, contextFor(data));
        if (payload instanceof Promise) {
          return payload.then(
            () => parseAsynchronously(data),
            (error) => oversizeError(error, data),
          );
        }
        if (payload.issues.length === 0) {
          mode = "synchronous";
          return { success: true, data: payload.value as T };
        }
      }
      return runSynchronously(schema, data, length);
    } catch (error) {
      return error instanceof $ZodAsyncError
        ? parseAsynchronously(data)
        : oversizeError(error, data);
    }
  };
}

/** What zod is asked with; it knows `abortEarly` since 4.6 (`z.validate`) and takes it from whoever runs a schema. */
interface RunContext {
  async?: boolean;
  abortEarly?: boolean;
}

/**
 * Of an input with more values than this, the first fault is told and zod stops there: a list of all of them would take
 * hundreds of times the input's memory.
 */
const MANY_VALUES = 10_000;

function contextFor(data: unknown, async?: boolean): RunContext {
  const context: RunContext = async === undefined ? {} : { async };
  if (hasManyValues(data)) context.abortEarly = true;
  return context;
}

function runSynchronously<T>(
  schema: $ZodType<T>,
  data: unknown,
  length: number,
): ValidationResult<T> {
  // each value takes two characters at least: a short text needs no counting
  const context = length <= MANY_VALUES ? { async: false } : contextFor(data, false);
  const payload = schema._zod.run({ value: data, issues: [] }, context);
  if (payload instanceof Promise) throw new $ZodAsyncError();
  return toToldResult(payload);
}

async function runAsynchronously<T>(
  schema: $ZodType<T>,
  data: unknown,
): Promise<ValidationResult<T>> {
  const context = contextFor(data, true);
  return toToldResult(await schema._zod.run({ value: data, issues: [] }, context));
}

/** More levels than any honest input has; a schema that refers to itself follows some thousands. */
const MAX_NESTING = 500;

/**
 * A stack that overflows over an input that is nested very deeply, or that has so many faults that zod cannot hand them
 * on as arguments, is the input's fault, not the service's.
 */
function oversizeError(error: unknown, data: unknown): ValidationResult<never> {
  const overflow = error instanceof RangeError && /call stack/i.test(error.message);
  if (overflow && isNestedDeeper(data, MAX_NESTING)) {
    return formFault("The input is nested too deeply");
  }
  if (overflow && hasManyValues(data)) return formFault("The input has too many faults to list");
  throw error;
}

/** A fault of a whole input. */
export function formFault(message: string): ValidationResult<never> {
  return { success: false, errors: { [FORM_KEY]: [message] } };
}

function isNestedDeeper(root: unknown, levels: number): boolean {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : []
    );
  }
  return false;
}

function hasManyValues(root: unknown): boolean {
  const left: unknown[] = [root];
  for (let count = 0; left.length > 0;) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
    count += inner.length;
    if (count > MANY_VALUES) return true;
    for (const item of inner) left.push(item);
  }
  return false;
}

/** What an answer holds at most: it may be no multiple of the request, and Lambda refuses one over 6 MB. */
const MAX_FAULTS = 100, MAX_FIELD_LENGTH = 200, MAX_MESSAGE_LENGTH = 500;

function toToldResult<T>({ value, issues }: ParsePayload): ValidationResult<T> {
  if (issues.length === 0) return { success: true, data: value as T };
  const errors: Record<string, string[]> = {};
  for (const { path, message } of withMessages(issues.slice(0, MAX_FAULTS))) {
    addFieldError(
      errors,
      clip(getField(path), MAX_FIELD_LENGTH),
      clip(message, MAX_MESSAGE_LENGTH),
    );
  }
  if (issues.length > MAX_FAULTS) {
    addFieldError(errors, FORM_KEY, `${issues.length - MAX_FAULTS} more faults are not listed`);
  }
  return { success: false, errors };
}

/** Words the faults as zod does. It is asked through a schema that has them, since its `util` would come whole: 10 KB. */
function withMessages(issues: ParsePayload["issues"]): readonly $ZodIssue[] {
  const faulty = { _zod: { run: () => ({ value: undefined, issues }) } } as unknown as $ZodType;
  const parsed = safeParse(faulty, undefined);
  return parsed.success ? [] : parsed.error.issues;
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

type Parsed<T> = { success: true; data: T } | {
  success: false;
  error: { issues: readonly $ZodIssue[] };
};

function toResult<T>(parsed: Parsed<T>): ValidationResult<T> {
  return parsed.success
    ? { success: true, data: parsed.data }
    : { success: false, errors: fieldErrors(parsed.error.issues) };
}

/** Messages by dotted path. */
function fieldErrors(issues: readonly $ZodIssue[]): Record<string, string[]> {
  const errors: Record<string, string[]> = {};
  for (const { path, message } of issues) addFieldError(errors, getField(path), message);
  return errors;
}

function getField(path: readonly PropertyKey[]): string {
  return path.length === 0 ? FORM_KEY : path.join(".");
}

/** Adds a message. A field called `__proto__` becomes a property as well. */
export function addFieldError(
  errors: Record<string, string[]>,
  field: string,
  message: string,
): void {
  if (Object.hasOwn(errors, field)) errors[field].push(message);
  else if (field !== "__proto__") errors[field] = [message];
  else {Object.defineProperty(errors, field, {
      value: [message],
      enumerable: true,
      configurable: true,
      writable: true,
    });}
}
