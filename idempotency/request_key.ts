import { sha256 } from "../core/digest.ts";
import { getHeader, getMethod, getPath, getQueryString } from "../core/http/api_event.ts";
import { encodeBase64 } from "../core/http/base64.ts";
import { KEY_HEADER_PATTERN } from "../core/idempotency.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { ValidationError } from "../errors/http_errors.ts";

/** Header of the key (draft-ietf-httpapi-idempotency-key-header-07). */
export const KEY_HEADER = "Idempotency-Key";

const PATTERN = new RegExp(KEY_HEADER_PATTERN);

/**
 * Returns the key of a request. The draft asks for a quoted string; most clients send it without quotes. Both name the same
 * key. An empty header is refused: a client that sends it expects protection.
 *
 * @param event The request.
 * @returns The key; `undefined` if the request has none.
 * @throws {ValidationError} If the key is malformed or empty.
 */
export function readKeyHeader(event: ApiEvent): string | undefined {
  const value = getHeader(event, KEY_HEADER)?.trim();
  if (value === undefined) return undefined;
  if (!PATTERN.test(value)) {
    throw invalidKey(
      `${KEY_HEADER} must have 1 to 255 visible ASCII characters without quotes and backslashes, such as a UUID`,
    );
  }
  return value.startsWith('"') ? value.slice(1, -1) : value;
}

/**
 * Creates the error of a missing or malformed key.
 *
 * @param message Shown to the client.
 */
export function invalidKey(message: string): ValidationError {
  return new ValidationError(message, { errors: { [KEY_HEADER]: [message] } });
}

/**
 * Returns what duplicates of a request have in common.
 *
 * @param event The request.
 */
export function describeRequest(event: ApiEvent): string {
  const parts = [getMethod(event), getPath(event), getQueryString(event), event.body ?? ""];
  return JSON.stringify([...parts, event.isBase64Encoded === true]);
}

/**
 * Returns the id of a record. Functions may share a table: the names of the Lambda function and of the operation are part of
 * the id, in the form of AWS Powertools. Key and scope are hashed, so that neither can be read from the table.
 *
 * @param functionName Name of the Lambda function.
 * @param operationName Name of the handler.
 * @param scope What the key belongs to.
 * @param key The key.
 */
export async function createRecordId(
  functionName: string,
  operationName: string,
  scope: string,
  key: string,
): Promise<string> {
  return `${functionName}.${operationName}#${await hash(JSON.stringify({ key, scope }))}`;
}

/** Returns the SHA-256 of a text, in base64. */
export async function hash(text: string): Promise<string> {
  return encodeBase64(await sha256(text));
}
