import type { $ZodType } from "zod/v4/core";
import { type ApiEvent, hasQuery, pathParametersOf, queryOf } from "../core/mod.ts";
import { ValidationError } from "../errors/mod.ts";
import { listKeysOf } from "./list_keys.ts";
import { checkBodySize, readBody, toInput } from "./read_body.ts";
import { addFieldError, createValidator, FORM_KEY, type ValidationResult } from "./schema.ts";

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

/** Lambda takes events up to 6 MB. */
const DEFAULT_MAX_BODY_BYTES = 6 * 1024 * 1024;

type Part = keyof RequestInput;
type Outcome = readonly [part: Part, result: ValidationResult];

/**
 * Makes the function that reads and validates path, query and body of a request. Faults in all of them are told
 * together.
 *
 * @param options The handler's schemas and its limit for the body.
 * @returns Reads an event: synchronously unless a schema is asynchronous. It throws `ValidationError`,
 * `PayloadTooLargeError` or `UnsupportedMediaTypeError`.
 */
export function createInputReader(options: InputOptions): (event: ApiEvent) => RequestInput | Promise<RequestInput> {
  const { schema, querySchema, pathSchema, maxBodyBytes = DEFAULT_MAX_BODY_BYTES } = options;
  const validateBody = schema && createValidator(schema);
  const validateQuery = querySchema && createValidator(querySchema);
  const validatePath = pathSchema && createValidator(pathSchema);
  // read with the first request: a schema may refer, through z.lazy, to one that is declared further down in its module
  let formLists: ReadonlySet<string> | undefined, queryLists: ReadonlySet<string> | undefined;

  return function readInput(event: ApiEvent): RequestInput | Promise<RequestInput> {
    checkBodySize(event, maxBodyBytes);
    // the media type is refused before anything is validated
    const bodyInput = validateBody && readBody(event, formLists ??= listKeysOf(schema));
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    if (validatePath !== undefined) outcomes.push(outcomeOf("path", validatePath({ ...pathParametersOf(event) })));
    if (validateQuery !== undefined) {
      queryLists ??= listKeysOf(querySchema);
      outcomes.push(outcomeOf("query", validateQuery(hasQuery(event) ? toInput(queryOf(event), queryLists) : {})));
    }
    if (bodyInput !== undefined) {
      outcomes.push(
        "fault" in bodyInput
          ? ["body", { success: false, errors: { [FORM_KEY]: [bodyInput.fault] } }]
          : outcomeOf("body", validateBody!(bodyInput.value)),
      );
    }
    return outcomes.some((outcome) => outcome instanceof Promise)
      ? Promise.all(outcomes).then(combine)
      : combine(outcomes as Outcome[]);
  };
}

function outcomeOf(part: Part, result: ValidationResult | Promise<ValidationResult>): Outcome | Promise<Outcome> {
  return result instanceof Promise ? result.then((settled) => [part, settled] as const) : [part, result];
}

function combine(outcomes: readonly Outcome[]): RequestInput {
  const input: RequestInput = {};
  const faults: [part: Part, errors: Readonly<Record<string, string[]>>][] = [];
  for (const [part, result] of outcomes) {
    if (result.success) input[part] = result.data;
    else faults.push([part, result.errors]);
  }
  if (faults.length > 0) throw new ValidationError("Validation failed", { errors: mergeErrors(faults) });
  return input;
}

/** A body's fields stand alone; those of query and path say where they are when more than one input is at fault. */
function mergeErrors(
  faults: readonly (readonly [part: Part, errors: Readonly<Record<string, string[]>>])[],
): Record<string, string[]> {
  if (faults.length === 1) return faults[0][1];
  const merged: Record<string, string[]> = {};
  for (const [part, errors] of faults) {
    const prefix = part === "body" ? "" : `${part}.`;
    for (const [field, messages] of Object.entries(errors)) {
      for (const message of messages) addFieldError(merged, prefix + field, message);
    }
  }
  return merged;
}
