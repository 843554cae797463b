import { groupValues } from "../core/lists/group_by.ts";
import { getHeader, readRawBody } from "../core/http/api_event.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { parseJson } from "../core/http/parse_json.ts";
import { PayloadTooLargeError, UnsupportedMediaTypeError } from "../errors/http_errors.ts";

/** Content of a body: a value for the schema, or the error of the whole body. */
export type BodyInput = { value: unknown } | { error: string };

/** `application/json`, `application/problem+json`, `text/json`. */
const JSON_TYPE = /^(?:application|text)\/(?:[\w.!#$&^-]+\+)?json$/;
const FORM_TYPE = "application/x-www-form-urlencoded";
/** Fields that a form or a query string may have. 1 MB with 125,000 of them would keep a processor busy for a second. */
export const MAX_FIELDS = 10_000;
/** The error of an empty body. */
export const BODY_REQUIRED = "A request body is required";
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Refuses a body that is too large, before anything is decoded.
 *
 * @throws {PayloadTooLargeError} When it has more than `maxBytes`.
 */
export function checkBodySize(event: ApiEvent, maxBytes: number): void {
  const { body } = event;
  if (typeof body !== "string" || body.length * 3 <= maxBytes) return;
  if (getSize(body, event.isBase64Encoded, maxBytes) > maxBytes) {
    throw new PayloadTooLargeError(
      `The request body is larger than the ${maxBytes} bytes that are accepted`,
    );
  }
}

/** Returns the bytes of a body, or its characters if they alone are over the limit. */
function getSize(body: string, isBase64: boolean, maxBytes: number): number {
  if (isBase64) {
    return Math.floor((body.length * 3) / 4) -
      (body.endsWith("==") ? 2 : body.endsWith("=") ? 1 : 0);
  }
  return body.length > maxBytes ? body.length : new TextEncoder().encode(body).length;
}

/**
 * Reads a body as its media type says. One without a media type is taken for JSON.
 *
 * @param event The event.
 * @param listKeys Gives the fields of a form whose schema asks for an array.
 * @returns The value, or the error.
 * @throws {UnsupportedMediaTypeError} When it is neither JSON nor a form, or not in UTF-8.
 */
export function readBody(event: ApiEvent, listKeys: () => ReadonlySet<string>): BodyInput {
  const isForm = isFormType(getHeader(event, "Content-Type", "content-type"));
  let text = event.body;
  if (typeof text !== "string" || text === "") return { error: BODY_REQUIRED };
  if (event.isBase64Encoded) {
    if (text.length % 4 !== 0 || !BASE64.test(text)) {
      return { error: "The request body is not valid base64" };
    }
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(readRawBody(event));
    } catch {
      return { error: "The request body is not valid UTF-8" };
    }
  }
  return isForm ? readForm(text, listKeys) : readJson(text);
}

function isFormType(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === "application/json") return false;
  const [type, ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  const isForm = type === FORM_TYPE;
  if (!isForm && type !== "" && !JSON_TYPE.test(type)) {
    throw new UnsupportedMediaTypeError(`The media type must be application/json or ${FORM_TYPE}`);
  }
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice(8)
    .replace(/^"|"$/g, "");
  if (
    charset !== undefined && charset !== "utf-8" && charset !== "utf8" && charset !== "us-ascii"
  ) {
    throw new UnsupportedMediaTypeError("The request body must be in UTF-8");
  }
  return isForm;
}

function readJson(text: string): BodyInput {
  const parsed = parseJson(text);
  return "error" in parsed ? { error: `The request body ${parsed.error}` } : parsed;
}

function readForm(text: string, listKeys: () => ReadonlySet<string>): BodyInput {
  if (hasMoreThan(text, "&", MAX_FIELDS - 1)) {
    return { error: `The request body has more than ${MAX_FIELDS} fields` };
  }
  return { value: collectInput(new URLSearchParams(text), listKeys()) };
}

/** Returns whether a text has a separator more often than a limit, before the text is split there. */
export function hasMoreThan(text: string, separator: string, limit: number): boolean {
  let count = 0;
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + 1)) {
    if (++count > limit) return true;
  }
  return false;
}

/**
 * Collects the fields of a form, which may come several times, as an input for a schema.
 *
 * @param entries Names and values.
 * @param listKeys Names whose schema asks for an array.
 */
export function collectInput<T>(
  entries: Iterable<readonly [string, T]>,
  listKeys: ReadonlySet<string>,
): Record<string, T | T[]> {
  return toInput(groupValues(entries), listKeys);
}

/**
 * Returns names with values as an input for a schema: a list where the schema asks for one, else the last value.
 *
 * @param values All values by name.
 * @param listKeys Names whose schema asks for an array.
 */
export function toInput<T>(
  values: ReadonlyMap<string, readonly T[]>,
  listKeys: ReadonlySet<string>,
): Record<string, T | T[]> {
  const input: Record<string, T | T[]> = {};
  for (const [key, all] of values) {
    if (key === "__proto__") continue;
    input[key] = listKeys.has(key) ? [...all] : all[all.length - 1];
  }
  return input;
}
