import type { StandardIssue } from "../../env/standard_schema.ts";

/** Messages by field, in dotted paths. */
export type FieldErrors = Record<string, string[]>;

/** The key of messages that belong to the whole input. */
export const FORM_KEY = "_form";

/**
 * Returns the dotted path of an issue.
 *
 * @param path The keys from the outside in, as Standard Schema reports them.
 * @returns `items.0.sku`, or `_form` for the whole input.
 */
export function getFieldName(path: StandardIssue["path"] = []): string {
  if (path.length === 0) return FORM_KEY;
  return path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
}

/**
 * Groups the messages of issues by field.
 *
 * @param issues The issues of zod or of any library that follows Standard Schema.
 * @returns The messages by field.
 */
export function toFieldErrors(issues: readonly StandardIssue[]): FieldErrors {
  const errors: FieldErrors = {};
  for (const { path, message } of issues) addFieldError(errors, getFieldName(path), message);
  return errors;
}

/** Adds a message. A field named `__proto__` becomes a property too. */
export function addFieldError(errors: FieldErrors, field: string, message: string): void {
  if (Object.hasOwn(errors, field)) errors[field].push(message);
  else if (field !== "__proto__") errors[field] = [message];
  else {
    Object.defineProperty(errors, field, {
      value: [message],
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
}
