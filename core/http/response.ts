import type { StandardSchema } from "../../env/standard_schema.ts";
import { UnexpectedError } from "../../errors/http_errors.ts";
import { getFieldName } from "./field_errors.ts";
import { CORRELATION_ID_HEADER } from "./correlation_id.ts";
import { getInvocation } from "./get_invocation.ts";
import type { LambdaContext, ProxyResult } from "./lambda.ts";
import { isWithoutBody } from "./proxy_result.ts";
import { setOrigin } from "./response_origin.ts";

/** Further parts of a response. */
export interface ResponseOptions {
  /** Headers beside `Content-Type` and the correlation id. */
  headers?: Record<string, string | number | boolean>;
  /** Headers with several values. */
  multiValueHeaders?: Record<string, (string | number | boolean)[]>;
  /** Values of `Set-Cookie`. */
  cookies?: string[];
}

/**
 * Builds a JSON response. With a schema the body is parsed by it, so that what the schema does not name stays inside. A
 * handler with `responseSchema` or `responses` parses the body by its own schema unless it was given here.
 * 204, 205 and 304 carry no body.
 *
 * @param context Lambda's context, as the handler got it.
 * @param statusCode HTTP status, 100 to 599.
 * @param body Anything that JSON can hold and the schema takes; `undefined` for an empty body.
 * @param schema A schema of zod or any other library that follows Standard Schema. It must be synchronous.
 * @param options Headers and cookies.
 * @returns A plain proxy result.
 * @throws {UnexpectedError} When the body does not fit the schema or cannot be serialised: the client gets a 500, the
 * log the invalid fields.
 * @throws {RangeError} When the status is none.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { createLambdaContext } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const Note = z.object({ id: z.string() });
 * const response = buildValidatedResponse(createLambdaContext(), 200, { id: "n1", secret: "x" }, Note);
 * console.log(response.body); // {"id":"n1"}
 * ```
 */
export function buildValidatedResponse<TInput = unknown>(
  context: LambdaContext | undefined,
  statusCode: number,
  body?: NoInfer<TInput> | (NoInfer<TInput> & Record<string, unknown>),
  schema?: StandardSchema<unknown, TInput>,
  options?: ResponseOptions,
): ProxyResult {
  if (!Number.isInteger(statusCode) || statusCode < 100 || statusCode > 599) {
    throw new RangeError(`statusCode must be an integer from 100 to 599, got ${statusCode}`);
  }
  const empty = isWithoutBody(statusCode);
  const value = empty ? undefined : schema === undefined ? body : parse(body, schema);
  const text = serialize(value);
  const correlationId = getInvocation(context)?.correlationId ?? context?.awsRequestId;
  const headers = getHeaders(text, correlationId);
  const origin = { value, schema: empty ? undefined : schema };
  if (options === undefined) return setOrigin({ statusCode, headers, body: text }, origin);
  const result: ProxyResult = {
    statusCode,
    headers: { ...headers, ...options.headers },
    body: text,
  };
  if (options.multiValueHeaders !== undefined) result.multiValueHeaders = options.multiValueHeaders;
  if (options.cookies !== undefined) result.cookies = options.cookies;
  return setOrigin(result, origin);
}

function getHeaders(
  text: string,
  correlationId: string | undefined,
): Record<string, string | number | boolean> {
  return {
    ...(text !== "" && { "Content-Type": "application/json" }),
    ...(correlationId !== undefined && { [CORRELATION_ID_HEADER]: correlationId }),
  };
}

function parse(body: unknown, schema: StandardSchema): unknown {
  const result = schema["~standard"].validate(body);
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new UnexpectedError(
      "The response schema validates asynchronously: give buildValidatedResponse a synchronous one",
    );
  }
  if (result.issues === undefined) return result.value;
  const fields = result.issues.map(({ path, message }) => `${getFieldName(path)}: ${message}`);
  throw new UnexpectedError(`The response body does not fit its schema: ${fields.join("; ")}`);
}

/**
 * Returns a body as JSON, and `undefined` as an empty text.
 *
 * @throws {UnexpectedError} If it cannot be serialized.
 */
export function serialize(body: unknown): string {
  try {
    return JSON.stringify(body) ?? "";
  } catch (cause) {
    throw new UnexpectedError(
      "The response body cannot be serialised as JSON: convert bigint values, break cycles",
      {
        cause,
      },
    );
  }
}
