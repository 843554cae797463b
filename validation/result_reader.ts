import type { $ZodType } from "zod/v4/core";
import type { LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { buildValidatedResponse, serialize } from "../core/http/response.ts";
import { getOrigin, UNDECLARED } from "../core/http/response_origin.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { ConfigurationError, UnexpectedError } from "../errors/http_errors.ts";
import type { OpenApiMetadata } from "./openapi/registry.ts";
import { Reply } from "./reply.ts";
import {
  type DeclaredResponse,
  getDeclaredParts,
  type ResponseSchemas,
  type ResponseValidation,
} from "./response_types.ts";
import { createValidator } from "./schema.ts";
import { formError, type ValidationResult, type Validator } from "./validation_result.ts";

/** Options of {@link createResultReader}. */
export interface ResultOptions {
  readonly responseSchema?: $ZodType;
  readonly responses?: ResponseSchemas;
  readonly validateResponses?: ResponseValidation;
  readonly openapi?: OpenApiMetadata;
}

/** Converts what a handler returned to a proxy result. */
export type ResultReader = (value: unknown, context: LambdaContext) => Promise<ProxyResult>;

/** A declared response with its validators. */
interface Declared {
  readonly schema: $ZodType | undefined;
  readonly validate: Validator;
  readonly validateHeaders?: Validator;
}

/**
 * Creates the function that converts what a handler returns to a proxy result. Bodies are parsed by the schema of their
 * status, so that fields which the schema does not name are not sent, and a status without a schema is refused. A body
 * that the same schema has parsed already is not parsed again: schemas may transform.
 *
 * @param options The handler's response schemas.
 * @returns The function, or `undefined` if the handler declares no responses and returns proxy results.
 * @throws {ConfigurationError} If `responseSchema` and `responses` are both given, or a status is invalid.
 */
export function createResultReader(options: ResultOptions): ResultReader | undefined {
  const { responseSchema, responses, openapi, validateResponses = "always" } = options;
  if (responseSchema === undefined && responses === undefined) return undefined;
  if (responseSchema !== undefined && responses !== undefined) {
    throw new ConfigurationError("Set responseSchema or responses, not both");
  }
  const skipsValidation = validateResponses === "never" ||
    (validateResponses === "development" && getOptionalEnv("LAMBDA_TASK_ROOT") !== undefined);
  const success = responseSchema && declare({ body: responseSchema });
  const declared = new Map(
    Object.entries(responses ?? {}).map((
      [status, each],
    ) => [Number(status), declare(getDeclaredParts(each))]),
  );
  const successStatus = success === undefined
    ? findSuccessStatus([...declared.keys()])
    : openapi?.successStatus ?? 200;

  function findDeclared(status: number): Declared {
    const found = success !== undefined && status >= 200 && status < 300
      ? success
      : declared.get(status);
    if (found !== undefined) return found;
    throw new UnexpectedError(
      status === 0
        ? "responses has not one status of success: return reply(status, body)"
        : `The handler declares no response with status ${status}: add it to responses, throw an error, or return ` +
          "undeclared(result)",
    );
  }

  async function parse(value: unknown, validate: Validator, what = "body"): Promise<unknown> {
    if (skipsValidation) return value;
    const { success, data, errors = {} } = await validate(value);
    if (success) return data;
    const fields = Object.entries(errors).map(([name, [message]]) => `${name}: ${message}`);
    throw new UnexpectedError(`The response ${what} does not fit its schema: ${fields.join("; ")}`);
  }

  async function parseHeaders(
    result: ProxyResult,
    { validateHeaders }: Declared,
  ): Promise<ProxyResult> {
    if (validateHeaders === undefined || skipsValidation) return result;
    const given = { ...result.headers };
    const byName: Record<string, unknown> = {};
    for (const [name, values] of Object.entries(result.multiValueHeaders ?? {})) {
      byName[name.toLowerCase()] = values.join(", ");
    }
    for (const name of Object.keys(given)) byName[name.toLowerCase()] = given[name];
    const parsed = await parse(byName, validateHeaders, "headers") as Record<string, unknown>;
    const headers = Object.entries(parsed).filter(([, value]) => value !== undefined);
    for (const [name, value] of headers) {
      if (!/^(?:string|number|boolean)$/.test(typeof value)) {
        throw new UnexpectedError(
          `The response header ${name} is neither text, number nor boolean`,
        );
      }
      for (const key of Object.keys(given)) if (key.toLowerCase() === name) delete given[key];
    }
    return { ...result, headers: { ...given, ...Object.fromEntries(headers) as typeof given } };
  }

  async function readProxyResult(result: ProxyResult): Promise<ProxyResult> {
    const origin = getOrigin(result);
    if (origin === UNDECLARED) return result;
    const { statusCode } = result;
    if (!declared.has(statusCode) && isEmpty(result)) {
      const isRedirect = statusCode >= 300 && statusCode < 400;
      if (isRedirect || openapi?.responses?.[statusCode] !== undefined) return result;
    }
    const response = findDeclared(statusCode);
    const { schema, validate } = response;
    const checked = await parseHeaders(result, response);
    if (skipsValidation) return checked;
    if (schema !== undefined && origin?.schema === schema) return checked;
    const value = origin === undefined ? readJson(result) : origin.value;
    return { ...checked, body: serialize(await parse(value, validate)) };
  }

  return async function readResult(value, context) {
    if (isProxyResult(value)) return await readProxyResult(value);
    const { status, value: body, options } = value instanceof Reply
      ? value
      : new Reply(successStatus, value, undefined);
    const response = findDeclared(status);
    const data = await parse(body, response.validate);
    return await parseHeaders(
      buildValidatedResponse(context, status, data, undefined, options),
      response,
    );
  };
}

function declare({ body, headers }: DeclaredResponse): Declared {
  return {
    schema: body,
    validate: body === undefined ? refuseBody : createValidator(body),
    ...headers && { validateHeaders: createValidator(headers) },
  };
}

/** Validates the body of a response that is declared without one. */
function refuseBody(value: unknown): ValidationResult {
  return value === undefined
    ? { success: true, data: undefined }
    : formError("the response is declared without a body");
}

function isEmpty({ body }: ProxyResult): boolean {
  return body === "" || body === undefined || body === null;
}

/** Returns the body of a result that was written by hand. */
function readJson(result: ProxyResult): unknown {
  if (isEmpty(result)) return undefined;
  try {
    if (!result.isBase64Encoded) return JSON.parse(result.body);
  } catch {
    // the message says what to do
  }
  throw new UnexpectedError(
    "The response body is not the JSON that the handler declares: return the value itself, or undeclared(result)",
  );
}

/** Returns the status of success if there is exactly one, else 0. */
function findSuccessStatus(statuses: readonly number[]): number {
  if (statuses.length === 0 || !statuses.every((status) => status >= 200 && status <= 599)) {
    throw new ConfigurationError(
      `responses takes schemas by status, 200 to 599, got ${statuses.join() || "none"}`,
    );
  }
  const success = statuses.filter((status) => status < 300);
  return success.length === 1 ? success[0] : 0;
}

/** All members that a proxy result can have. */
const RESULT_MEMBERS = /^(?:statusCode|headers|multiValueHeaders|cookies|body|isBase64Encoded)$/;

/** Checks for a proxy result: an object with a status and with no member that such results do not have. */
function isProxyResult(value: unknown): value is ProxyResult {
  return typeof value === "object" && value !== null &&
    typeof (value as Partial<ProxyResult>).statusCode === "number" &&
    Object.keys(value).every((name) => RESULT_MEMBERS.test(name));
}
