import { $ZodAsyncError, type $ZodIssue, type $ZodType, safeParse, safeParseAsync } from "zod/v4/core";

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

/** A schema's parser: synchronous as long as the schema is, which the first value decides. */
export function createValidator<T>(
  schema: $ZodType<T>,
): (data: unknown) => ValidationResult<T> | Promise<ValidationResult<T>> {
  let asynchronous = false;
  return function validate(data: unknown): ValidationResult<T> | Promise<ValidationResult<T>> {
    if (!asynchronous) {
      try {
        return toResult(safeParse(schema, data));
      } catch (error) {
        if (!(error instanceof $ZodAsyncError)) throw error;
        asynchronous = true;
      }
    }
    return validateSchemaAsync(schema, data);
  };
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
