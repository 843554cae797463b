import type { $ZodType } from "zod/v4/core";
import { then } from "../core/async/then.ts";
import type { LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { buildValidatedResponse } from "../core/http/response.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { ConfigurationError, UnexpectedError } from "../errors/http_errors.ts";
import { Reply } from "./reply.ts";
import type { ResponseSchemas, ResponseValidation } from "./response_types.ts";
import { createValidator } from "./schema.ts";

/** Options of {@link createResultReader}. */
export interface ResultOptions {
  readonly responseSchema?: $ZodType;
  readonly responses?: ResponseSchemas;
  readonly validateResponses?: ResponseValidation;
  readonly openapi?: { readonly successStatus?: number };
}

/** Converts what a handler returned to a proxy result. */
export type ResultReader = (
  value: unknown,
  context: LambdaContext,
) => ProxyResult | Promise<ProxyResult>;

/**
 * Creates the function that converts what a handler returns to a proxy result. Bodies are parsed by the schema of their
 * status, so that fields which the schema does not name are not sent.
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
  const validateAny = responseSchema && createValidator(responseSchema);
  const validators = new Map(
    Object.entries(responses ?? {}).map(([status, schema]) =>
      [Number(status), createValidator(schema)] as const
    ),
  );
  const successStatus = validateAny === undefined
    ? findSuccessStatus([...validators.keys()])
    : openapi?.successStatus ?? 200;

  return function readResult(value, context) {
    if (isProxyResult(value)) return value;
    const { status, value: body, options } = value instanceof Reply
      ? value
      : new Reply(successStatus, value, undefined);
    const validate = validateAny ?? validators.get(status);
    if (validate === undefined) {
      throw new UnexpectedError(`responses has no schema for status ${status}: return reply()`);
    }
    if (skipsValidation) {
      return buildValidatedResponse(context, status, body, undefined, options);
    }
    return then(validate(body), ({ success, data, errors = {} }) => {
      if (success) return buildValidatedResponse(context, status, data, undefined, options);
      const fields = Object.entries(errors).map(([name, [message]]) => `${name}: ${message}`);
      throw new UnexpectedError(`The response body does not fit its schema: ${fields.join("; ")}`);
    });
  };
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
