import type { $ZodType } from "zod/v4/core";
import { getPathParameters, getQuery, hasQuery, isHttpApiEvent } from "../core/http/api_event.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { addFieldError } from "../core/field_errors.ts";
import { ValidationError } from "../errors/http_errors.ts";
import { withoutStack } from "../errors/without_stack.ts";
import type { BodyParser } from "./multipart.ts";
import {
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
}

/** Options of {@link createInputReader}. */
export interface InputOptions {
  schema?: $ZodType;
  querySchema?: $ZodType;
  pathSchema?: $ZodType;
  maxBodyBytes?: number;
  bodyParser?: BodyParser;
}

/** 1 MiB. A larger body that does not fit its schema can keep a processor busy for seconds; Lambda takes up to 6 MB. */
const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;

/** Characters of all names and values. Gateways pass on 16 KB at most, direct invocations may send more. */
const MAX_QUERY_LENGTH = 1024 * 1024;

type Part = keyof RequestInput;
type Outcome = ValidationResult | undefined;

/**
 * Creates the function that reads and validates path, query and body of a request. The errors of all three are
 * reported together.
 *
 * @param options The handler's schemas and its limit for the body.
 * @returns Reads an event into the handler's parameters, synchronously unless a schema is asynchronous. Returns a
 * `ValidationError` for invalid input. Throws `PayloadTooLargeError` or `UnsupportedMediaTypeError`.
 */
export function createInputReader(
  options: InputOptions,
): (
  event: ApiEvent,
  params: RequestInput,
) => Promise<ValidationError | undefined> | ValidationError | undefined {
  const { schema, querySchema, pathSchema, maxBodyBytes = DEFAULT_MAX_BODY_BYTES, bodyParser } =
    options;
  const validateBody = schema && createValidator(schema);
  const validateQuery = querySchema && createValidator(querySchema);
  const validatePath = pathSchema && createValidator(pathSchema);
  // read with the first form or query: a schema may refer, through z.lazy, to one further down in its module
  let formLists: ReadonlySet<string> | undefined, queryLists: ReadonlySet<string> | undefined;

  function listsOfForm(): ReadonlySet<string> {
    return formLists ??= getListKeys(schema);
  }

  function readQuery(event: ApiEvent): Record<string, string | string[]> | undefined {
    if (!hasQuery(event)) return {};
    if (isTooLong(event)) return undefined;
    return toInput(getQuery(event), queryLists ??= getListKeys(querySchema));
  }

  function validateQueryString(event: ApiEvent): Outcome | Promise<Outcome> {
    if (validateQuery === undefined) return undefined;
    const query = readQuery(event);
    return query === undefined ? formError("The query string is too long") : validateQuery(query);
  }

  function validateInput(event: ApiEvent, input: BodyInput | undefined) {
    return input === undefined || "error" in input
      ? input && formError(input.error)
      : validateBody!(input.value, event.body!.length);
  }

  return function readInput(event, params) {
    checkBodySize(event, maxBodyBytes);
    // the media type is refused before anything is validated
    const input = validateBody &&
      (bodyParser?.parse(event, listsOfForm) ?? readBody(event, listsOfForm));
    const path = validatePath?.({ ...getPathParameters(event) });
    const query = validateQueryString(event);
    const body = input instanceof Promise
      ? input.then((parsed) => validateInput(event, parsed))
      : validateInput(event, input);
    if (path instanceof Promise || query instanceof Promise || body instanceof Promise) {
      return Promise.all([path, query, body]).then((outcomes) => combine(params, ...outcomes));
    }
    return combine(params, path, query, body);
  };
}

/** Checks a query before its parameters are decoded and collected. */
function isTooLong(event: ApiEvent): boolean {
  if (isHttpApiEvent(event)) {
    const text = event.rawQueryString ?? "";
    return text.length > MAX_QUERY_LENGTH || hasMoreThan(text, "&", MAX_FIELDS - 1);
  }
  const all: Readonly<Record<string, unknown>> = event.multiValueQueryStringParameters ??
    event.queryStringParameters ?? {};
  let [length, count] = [0, 0];
  for (const name in all) {
    for (const value of [all[name]].flat()) {
      length += name.length + String(value).length;
      if (++count > MAX_FIELDS || length > MAX_QUERY_LENGTH) return true;
    }
  }
  return false;
}

function combine(
  params: RequestInput,
  path: Outcome,
  query: Outcome,
  body: Outcome,
): ValidationError | undefined {
  if (path?.success === false || query?.success === false || body?.success === false) {
    return validationError({ path: path?.errors, query: query?.errors, body: body?.errors });
  }
  if (path !== undefined) params.path = path.data;
  if (query !== undefined) params.query = query.data;
  if (body !== undefined) params.body = body.data;
  return undefined;
}

function validationError(
  errors: Readonly<Partial<Record<Part, Record<string, string[]>>>>,
): ValidationError {
  const merged = mergeErrors(errors);
  return withoutStack(() => new ValidationError("Validation failed", { errors: merged }));
}

/** Merges the messages of all inputs. With several invalid inputs, fields of query and path get a prefix. */
function mergeErrors(
  errors: Readonly<Partial<Record<Part, Record<string, string[]>>>>,
): Record<string, string[]> {
  const parts = (Object.keys(errors) as Part[]).filter((part) => errors[part] !== undefined);
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
