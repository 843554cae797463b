import { decodeBase64 } from "../http/base64.ts";
import { misfit, parseJsonInput } from "./parse_input.ts";

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
