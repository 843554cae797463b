import type { $ZodType } from "zod/v4/core";
import { getPathParameters, getQuery, hasQuery } from "../core/http/api_event.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { ValidationError } from "../errors/http_errors.ts";
import { getListKeys } from "./list_keys.ts";
import { checkBodySize, readBody, toInput } from "./read_body.ts";
import { addFieldError, createValidator, formFault, type ValidationResult } from "./schema.ts";

/** The parsed inputs of a request; a field that has no schema is absent. */
export interface RequestInput {
  body?: unknown;
  query?: unknown;
  path?: unknown;
}

/** What the inputs are read with. */
export interface InputOptions {
  schema?: $ZodType;
  querySchema?: $ZodType;
  pathSchema?: $ZodType;
  maxBodyBytes?: number;
}

/** 1 MiB. A larger body that does not fit its schema can keep a processor busy for seconds; Lambda takes up to 6 MB. */
const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;

/** Characters of all names and values. Gateways pass on 16 KB at most; whoever invokes the function by hand may send more. */
const MAX_QUERY_LENGTH = 1024 * 1024;

type Part = keyof RequestInput;
type Outcome = ValidationResult | undefined;

/**
 * Makes the function that reads and validates path, query and body of a request. Faults in all of them are told
 * together.
 *
 * @param options The handler's schemas and its limit for the body.
 * @returns Reads an event into the handler's parameters: at once unless a schema is asynchronous. It gives the
 * `ValidationError` when they do not fit, and throws `PayloadTooLargeError` or `UnsupportedMediaTypeError`.
 */
export function createInputReader(
  options: InputOptions,
): (
  event: ApiEvent,
  params: RequestInput,
) => Promise<ValidationError | undefined> | ValidationError | undefined {
  const { schema, querySchema, pathSchema, maxBodyBytes = DEFAULT_MAX_BODY_BYTES } = options;
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
    const query = getQuery(event);
    return isTooLong(query) ? undefined : toInput(query, queryLists ??= getListKeys(querySchema));
  }

  function validateQueryOf(event: ApiEvent): Outcome | Promise<Outcome> {
    if (validateQuery === undefined) return undefined;
    const query = readQuery(event);
    return query === undefined ? formFault("The query string is too long") : validateQuery(query);
  }

  return function readInput(event, params) {
    checkBodySize(event, maxBodyBytes);
    // the media type is refused before anything is validated
    const input = validateBody && readBody(event, listsOfForm);
    const path = validatePath?.({ ...getPathParameters(event) });
    const query = validateQueryOf(event);
    const body = input === undefined || "fault" in input
      ? input && formFault(input.fault)
      : validateBody!(input.value, event.body!.length);
    if (path instanceof Promise || query instanceof Promise || body instanceof Promise) {
      return Promise.all([path, query, body]).then((outcomes) => combine(params, ...outcomes));
    }
    return combine(params, path, query, body);
  };
}

function isTooLong(query: ReadonlyMap<string, readonly string[]>): boolean {
  let length = 0;
  for (const [name, values] of query) {
    for (const value of values) length += name.length + value.length;
    if (length > MAX_QUERY_LENGTH) return true;
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

/** Makes an error without frames: they say nothing about a client's fault, and cost ten times the error. */
function validationError(
  faults: Readonly<Partial<Record<Part, Record<string, string[]>>>>,
): ValidationError {
  const { stackTraceLimit } = Error;
  // an assignment would throw where Error is frozen (node --frozen-intrinsics); there the error has frames
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return new ValidationError("Validation failed", { errors: mergeErrors(faults) });
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

/** A body's fields stand alone; those of query and path say where they are when more than one input is at fault. */
function mergeErrors(
  faults: Readonly<Partial<Record<Part, Record<string, string[]>>>>,
): Record<string, string[]> {
  const parts = (Object.keys(faults) as Part[]).filter((part) => faults[part] !== undefined);
  if (parts.length === 1) return faults[parts[0]]!;
  const merged: Record<string, string[]> = {};
  for (const part of parts) {
    const prefix = part === "body" ? "" : `${part}.`;
    for (const [field, messages] of Object.entries(faults[part]!)) {
      for (const message of messages) addFieldError(merged, prefix + field, message);
    }
  }
  return merged;
}
