import {
  $ZodAsyncError,
  type $ZodErrorClass,
  type $ZodIssue,
  type $ZodType,
  _safeParse,
  _safeParseAsync,
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
const safeParseAsync = _safeParseAsync(IssueList as unknown as $ZodErrorClass);

/** What validating gives: the parsed and coerced payload, or messages by field. Check `success` first. */
export type ValidationResult<T = unknown> =
  | { success: true; data: T; errors?: undefined }
  | { success: false; data?: undefined; errors: Record<string, string[]> };

/** The key of messages that belong to the whole input. */
export const FORM_KEY = "_form";

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
      throw new TypeError("The schema validates asynchronously: use validateSchemaAsync", { cause });
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
export async function validateSchemaAsync<T>(schema: $ZodType<T>, data: unknown): Promise<ValidationResult<T>> {
  return toResult(await safeParseAsync(schema, data));
}

/**
 * A schema's parser: synchronous as long as the schema is. Until one value has passed it is not known whether the
 * schema ever has to wait, and asking zod's synchronous parser would leave the promise of an asynchronous refinement
 * to nobody: when that rejects, the process ends. A schema that can be compiled runs nobody's code, and never waits.
 */
export function createValidator<T>(
  schema: $ZodType<T>,
): (data: unknown) => ValidationResult<T> | Promise<ValidationResult<T>> {
  let mode: "unused" | "undecided" | "synchronous" | "asynchronous" = "unused";
  let parseFast: FastParser | undefined;

  function parseAsynchronously(data: unknown): Promise<ValidationResult<T>> {
    mode = "asynchronous";
    return validateSchemaAsync(schema, data).catch((error) => faultOfDepth(error, data));
  }

  return function validate(data: unknown): ValidationResult<T> | Promise<ValidationResult<T>> {
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
        const payload = schema._zod.run({ value: data, issues: [] }, {});
        if (payload instanceof Promise) {
          return payload.then(() => parseAsynchronously(data), (error) => faultOfDepth(error, data));
        }
        if (payload.issues.length === 0) {
          mode = "synchronous";
          return { success: true, data: payload.value as T };
        }
      }
      return toResult(safeParse(schema, data));
    } catch (error) {
      return error instanceof $ZodAsyncError ? parseAsynchronously(data) : faultOfDepth(error, data);
    }
  };
}

/** More levels than any honest input has; a schema that refers to itself follows some thousands. */
const MAX_NESTING = 500;

/** A stack that overflows over an input that is nested very deeply is the input's fault, not the service's. */
function faultOfDepth(error: unknown, data: unknown): ValidationResult<never> {
  const overflow = error instanceof RangeError && /call stack/i.test(error.message);
  if (!overflow || !isNestedDeeper(data, MAX_NESTING)) throw error;
  return { success: false, errors: { [FORM_KEY]: ["The input is nested too deeply"] } };
}

function isNestedDeeper(root: unknown, levels: number): boolean {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((value) => typeof value === "object" && value !== null ? Object.values(value) : []);
  }
  return false;
}

type Parsed<T> = { success: true; data: T } | { success: false; error: { issues: readonly $ZodIssue[] } };

function toResult<T>(parsed: Parsed<T>): ValidationResult<T> {
  return parsed.success
    ? { success: true, data: parsed.data }
    : { success: false, errors: fieldErrors(parsed.error.issues) };
}

/** Messages by dotted path. */
function fieldErrors(issues: readonly $ZodIssue[]): Record<string, string[]> {
  const errors: Record<string, string[]> = {};
  for (const { path, message } of issues) addFieldError(errors, path.length === 0 ? FORM_KEY : path.join("."), message);
  return errors;
}

/** Adds a message. A field called `__proto__` becomes a property as well. */
export function addFieldError(errors: Record<string, string[]>, field: string, message: string): void {
  if (Object.hasOwn(errors, field)) errors[field].push(message);
  else Object.defineProperty(errors, field, { value: [message], enumerable: true, configurable: true, writable: true });
}
