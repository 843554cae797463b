import { FORM_KEY } from "../core/http/field_errors.ts";

/** The result of validation: the parsed value, or messages by field. Check `success` first. */
export type ValidationResult<T = unknown> =
  | { success: true; data: T; errors?: undefined }
  | { success: false; data?: undefined; errors: Record<string, string[]> };

/** Validates a value. `length` is the length of its source text, if known. */
export type Validator<T = unknown> = (
  data: unknown,
  length?: number,
) => ValidationResult<T> | Promise<ValidationResult<T>>;

/** Returns an error of the whole input. */
export function formError(message: string): ValidationResult<never> {
  return { success: false, errors: { [FORM_KEY]: [message] } };
}
