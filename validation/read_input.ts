import type { $ZodType } from "zod/v4/core";
import {
  getGivenQuery,
  getHeaders,
  getPathParameters,
  getQuery,
  hasQuery,
  isHttpApiEvent,
} from "../core/http/api_event.ts";
import { getCookies } from "../core/http/cookies.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { addFieldError } from "../core/http/field_errors.ts";
import { ValidationError } from "../errors/http_errors.ts";
import type { BodyParser } from "./multipart.ts";
import {
  BODY_REQUIRED,
  type BodyInput,
  checkBodySize,
  hasMoreThan,
  MAX_FIELDS,
  readBody,
  toInput,
} from "./read_body.ts";
import { createValidator, getListKeys } from "./schema.ts";
import { formError, type ValidationResult } from "./validation_result.ts";

/** The parsed inputs of a request. An input without a schema is absent. */
export interface RequestInput {
  body?: unknown;
  query?: unknown;
  path?: unknown;
  headers?: unknown;
  cookies?: unknown;
}

/** Options of {@link createInputReader}. */
export interface InputOptions {
  schema?: $ZodType;
  querySchema?: $ZodType;
  pathSchema?: $ZodType;
  headers?: $ZodType;
  cookies?: $ZodType;
  maxBodyBytes?: number;
  bodyParser?: BodyParser;
}

/** 1 MiB. A larger body that does not fit its schema can keep a processor busy for seconds; Lambda takes up to 6 MB. */
const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;

/** Characters of all names and values. Gateways pass on 16 KB at most, direct invocations may send more. */
const MAX_QUERY_LENGTH = 1024 * 1024;

type Part = keyof RequestInput;
const PARTS = ["path", "query", "headers", "cookies", "body"] as const satisfies readonly Part[];
type Outcome = ValidationResult | undefined;

/**
 * Creates the function that reads and validates path, query, headers, cookies and body of a request. The errors of all are
 * reported together.
 *
 * @param options The handler's schemas and its limit for the body.
 * @returns Reads the input of an event. It rejects with `ValidationError`, `PayloadTooLargeError` or
 * `UnsupportedMediaTypeError`.
 */
export function createInputReader(
  options: InputOptions,
): (event: ApiEvent) => Promise<RequestInput> {
  const { schema, querySchema, pathSchema, maxBodyBytes = DEFAULT_MAX_BODY_BYTES, bodyParser } =
    options;
  const validateBody = schema && createValidator(schema);
  const validateQuery = querySchema && createValidator(querySchema);
  const validatePath = pathSchema && createValidator(pathSchema);
  const validateHeaders = options.headers && createValidator(options.headers);
  const validateCookies = options.cookies && createValidator(options.cookies);
  // read with the first form or query: a schema may refer, through z.lazy, to one further down in its module
  let formLists: ReadonlySet<string> | undefined, queryLists: ReadonlySet<string> | undefined;

  function listsOfForm(): ReadonlySet<string> {
    return formLists ??= getListKeys(schema);
  }

  function validateQueryString(event: ApiEvent): Outcome | Promise<Outcome> {
    if (validateQuery === undefined) return undefined;
    if (!hasQuery(event)) return validateQuery({});
    if (isTooLong(event)) return formError("The query string is too long");
    return validateQuery(toInput(getQuery(event), queryLists ??= getListKeys(querySchema)));
  }

  async function validateInput(
    event: ApiEvent,
    input: BodyInput | Promise<BodyInput> | undefined,
  ): Promise<Outcome> {
    const read = await input;
    if (read === undefined) return undefined;
    if (isAbsent(read) && schema!._zod.optin !== undefined) {
      const given = "value" in read ? await validateBody!(null) : formError(read.error);
      const omitted = given.success ? given : await validateBody!(undefined);
      return omitted.success ? omitted : given;
    }
    return "error" in read ? formError(read.error) : validateBody!(read.value, event.body!.length);
  }

  return async function readInput(event) {
    checkBodySize(event, maxBodyBytes);
    // the media type is refused before anything is validated
    const input = validateBody &&
      (bodyParser?.parse(event, listsOfForm) ?? readBody(event, listsOfForm));
    const outcomes = await Promise.all([
      validatePath?.({ ...getPathParameters(event) }),
      validateQueryString(event),
      validateHeaders?.(getHeaders(event)),
      validateCookies?.(getCookies(event)),
      validateInput(event, input),
    ]);
    const data: RequestInput = {};
    const errors: Partial<Record<Part, Record<string, string[]>>> = {};
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome?.success) data[PARTS[index]] = outcome.data;
      else if (outcome !== undefined) errors[PARTS[index]] = outcome.errors;
    }
    if (Object.keys(errors).length > 0) {
      throw new ValidationError("Validation failed", { errors: mergeErrors(errors) });
    }
    return data;
  };
}

/** Checks for a body that is empty, or that a generated client sends for an optional body. */
function isAbsent(read: BodyInput): boolean {
  return "error" in read ? read.error === BODY_REQUIRED : read.value === null;
}

/** Checks a query before its parameters are decoded and collected. */
function isTooLong(event: ApiEvent): boolean {
  if (isHttpApiEvent(event)) {
    const text = event.rawQueryString ?? "";
    return text.length > MAX_QUERY_LENGTH || hasMoreThan(text, "&", MAX_FIELDS - 1);
  }
  let [length, count] = [0, 0];
  for (const [name, given] of Object.entries(getGivenQuery(event))) {
    for (const value of [given].flat()) {
      length += name.length + String(value).length;
      if (++count > MAX_FIELDS || length > MAX_QUERY_LENGTH) return true;
    }
  }
  return false;
}

/** Merges the messages of all inputs. With several invalid inputs, fields of all but the body get a prefix. */
function mergeErrors(
  errors: Readonly<Partial<Record<Part, Record<string, string[]>>>>,
): Record<string, string[]> {
  const parts = Object.keys(errors) as Part[];
  if (parts.length === 1) return errors[parts[0]]!;
  const merged: Record<string, string[]> = {};
  for (const part of parts) {
    const prefix = part === "body" ? "" : `${part}.`;
    for (const [field, messages] of Object.entries(errors[part]!)) {
      for (const message of messages) addFieldError(merged, prefix + field, message);
    }
  }
  return merged;
}
