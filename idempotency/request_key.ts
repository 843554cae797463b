import { sha256 } from "../core/digest.ts";
import { getHeader, getMethod, getPath, getQueryString } from "../core/http/api_event.ts";
import { encodeBase64 } from "../core/http/base64.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { ValidationError } from "../errors/http_errors.ts";

/** Header of the key (draft-ietf-httpapi-idempotency-key-header-07). */
export const KEY_HEADER = "Idempotency-Key";

const MAX_KEY_LENGTH = 255;

/**
 * Returns the key of a request. The draft asks for a quoted string; most clients send it without quotes. Both name the same
 * key.
 *
 * @param event The request.
 * @returns The key; `undefined` if the request has none.
 * @throws {ValidationError} If the key is malformed.
 */
export function readKeyHeader(event: ApiEvent): string | undefined {
  const value = getHeader(event, KEY_HEADER)?.trim();
  if (value === undefined || value === "") return undefined;
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  const key = isQuoted ? value.slice(1, -1) : value;
  if (key.length === 0 || key.length > MAX_KEY_LENGTH || !isPrintable(key)) {
    throw invalidKey(
      `${KEY_HEADER} must have 1 to ${MAX_KEY_LENGTH} printable ASCII characters, such as a UUID`,
    );
  }
  return key;
}

/**
 * Creates the error of a missing or malformed key.
 *
 * @param message Shown to the client.
 */
export function invalidKey(message: string): ValidationError {
  return new ValidationError(message, { errors: { [KEY_HEADER]: [message] } });
}

/** Checks for visible ASCII characters without quotes and backslashes, which a quoted string would have to escape. */
function isPrintable(key: string): boolean {
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    if (code < 0x21 || code > 0x7e || code === 0x22 || code === 0x5c) return false;
  }
  return true;
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
