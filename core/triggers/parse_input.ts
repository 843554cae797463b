import type { StandardIssue, StandardResult, StandardSchema } from "../../env/standard_schema.ts";
import { ValidationError } from "../../errors/http_errors.ts";
import { toFieldErrors } from "../http/field_errors.ts";
import { decodeBase64 } from "../http/base64.ts";
import { parseJson } from "../http/parse_json.ts";

/**
 * Parses the JSON of a message.
 *
 * @returns The value.
 * @throws {ValidationError} If it is not valid JSON, or has keys that reach an object's prototype. V8's own error is not
 * the cause, because it quotes the text.
 */
export function parseJsonInput(text: unknown): unknown {
  if (typeof text !== "string" || text === "") throw misfit("It is empty, JSON is expected");
  const parsed = parseJson(text);
  if ("error" in parsed) throw misfit(`It ${parsed.error}`);
  return parsed.value;
}

/**
 * Parses a value with a schema.
 *
 * @param schema A schema of any library that follows Standard Schema, synchronous or not.
 * @param value Anything.
 * @returns What the schema makes of it.
 * @throws {ValidationError} With messages by dotted path, `_form` for the whole.
 */
export async function parseInput<T>(schema: StandardSchema<T>, value: unknown): Promise<T> {
  // through Standard Schema, zod starts an asynchronous check twice and does not await the first promise: if that
  // rejects, the process ends with all records in flight
  if (isZodSchema(schema)) {
    const result = await schema.safeParseAsync(value);
    return getValue(result.success ? { value: result.data as T } : result.error);
  }
  return getValue(await schema["~standard"].validate(value));
}

/** The part of zod's schemas, zod/mini's too, that is used here. */
interface ZodSchema {
  safeParseAsync(value: unknown): Promise<ZodResult>;
}

type ZodResult = { success: true; data: unknown } | {
  success: false;
  error: { issues: readonly StandardIssue[] };
};

function isZodSchema(schema: StandardSchema): schema is StandardSchema & ZodSchema {
  return schema["~standard"].vendor === "zod" &&
    typeof (schema as Partial<ZodSchema>).safeParseAsync === "function";
}

/**
 * An input that does not fit as a whole.
 *
 * @param message Why, without anything of the input.
 */
export function misfit(message: string): ValidationError {
  return new ValidationError("Validation failed", {
    errors: { _form: [message] },
    details: { reason: message },
  });
}

function getValue<T>(result: StandardResult<T>): T {
  if (result.issues === undefined) return result.value;
  throw new ValidationError("Validation failed", { errors: toFieldErrors(result.issues) });
}

/**
 * Decodes the content of a record to text.
 *
 * @param data Base64.
 * @returns The text.
 * @throws {ValidationError} If it is not UTF-8.
 */
export function decodeText(data: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(decodeBase64(data));
  } catch {
    throw misfit("It is not UTF-8");
  }
}

/** The content of a record, which is read once. */
export interface RecordContent {
  /** The `correlationId` of a JSON object. */
  readonly correlationId: unknown;
  /** Returns the JSON. Throws `ValidationError` if it is invalid. */
  readonly readInput: () => unknown;
}

/**
 * Reads the JSON of a record. Never throws: `readInput` reports invalid content.
 *
 * @param data Base64 of JSON.
 * @returns The content.
 */
export function openContent(data: string): RecordContent {
  let value: unknown;
  try {
    value = parseJsonInput(decodeText(data));
  } catch (error) {
    return {
      correlationId: undefined,
      readInput(): never {
        throw error;
      },
    };
  }
  const { correlationId } = (value ?? {}) as { correlationId?: unknown };
  return { correlationId, readInput: () => value };
}

/**
 * Prepares the content of a record for the log. Base64 would hide the names that redaction goes by.
 *
 * @param data Base64.
 * @returns The JSON, or the length of other content.
 */
export function toLoggableContent(data: unknown): unknown {
  if (typeof data !== "string") return data;
  try {
    return parseJsonInput(decodeText(data));
  } catch {
    return `[${data.length} characters in base64]`;
  }
}
