import type { $ZodType } from "zod/v4/core";
import type { LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { buildValidatedResponse, serialize } from "../core/http/response.ts";
import { getOrigin, UNDECLARED } from "../core/http/response_origin.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { ConfigurationError, UnexpectedError } from "../errors/http_errors.ts";
import type { OpenApiMetadata } from "./openapi/registry.ts";
import { Reply } from "./reply.ts";
import type { ResponseSchemas, ResponseValidation } from "./response_types.ts";
import { createValidator } from "./schema.ts";
import type { Validator } from "./validation_result.ts";

/** Options of {@link createResultReader}. */
export interface ResultOptions {
  readonly responseSchema?: $ZodType;
  readonly responses?: ResponseSchemas;
  readonly validateResponses?: ResponseValidation;
  readonly openapi?: OpenApiMetadata;
}

/** Converts what a handler returned to a proxy result. */
export type ResultReader = (value: unknown, context: LambdaContext) => Promise<ProxyResult>;

/** A declared response. */
interface DeclaredBody {
  readonly schema: $ZodType;
  readonly validate: Validator;
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
  const success = responseSchema && declare(responseSchema);
  const declared = new Map(
    Object.entries(responses ?? {}).map(([status, schema]) => [Number(status), declare(schema)]),
  );
  const successStatus = success === undefined
    ? findSuccessStatus([...declared.keys()])
    : openapi?.successStatus ?? 200;

  function findDeclared(status: number): DeclaredBody {
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

  async function parse(value: unknown, { validate }: DeclaredBody): Promise<unknown> {
    if (skipsValidation) return value;
    const { success, data, errors = {} } = await validate(value);
    if (success) return data;
    const fields = Object.entries(errors).map(([name, [message]]) => `${name}: ${message}`);
    throw new UnexpectedError(`The response body does not fit its schema: ${fields.join("; ")}`);
  }

  async function readProxyResult(result: ProxyResult): Promise<ProxyResult> {
    const origin = getOrigin(result);
    if (origin === UNDECLARED) return result;
    const { statusCode } = result;
    if (!declared.has(statusCode) && isEmpty(result)) {
      const isRedirect = statusCode >= 300 && statusCode < 400;
      if (isRedirect || openapi?.responses?.[statusCode] !== undefined) return result;
    }
    const body = findDeclared(statusCode);
    if (skipsValidation || origin !== undefined && origin.schema === body.schema) return result;
    const value = origin === undefined ? readJson(result) : origin.value;
    return { ...result, body: serialize(await parse(value, body)) };
  }

  return async function readResult(value, context) {
    if (isProxyResult(value)) return await readProxyResult(value);
    const { status, value: body, options } = value instanceof Reply
      ? value
      : new Reply(successStatus, value, undefined);
    const data = await parse(body, findDeclared(status));
    return buildValidatedResponse(context, status, data, undefined, options);
  };
}

function declare(schema: $ZodType): DeclaredBody {
  return { schema, validate: createValidator(schema) };
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
