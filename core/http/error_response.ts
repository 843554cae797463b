import { type AppError, isAppError } from "../../errors/app_error.ts";
import { ERROR_CODES, type ErrorCode } from "../../errors/error_code.ts";
import type { ValidationError } from "../../errors/http_errors.ts";
import { logError } from "../../observability/logger.ts";
import { getWeight } from "./accept.ts";
import { getHeader } from "./api_event.ts";
import { CORRELATION_ID_HEADER } from "./correlation_id.ts";
import { getInvocation } from "./get_invocation.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "./lambda.ts";
import { setOrigin, UNDECLARED } from "./response_origin.ts";

/** The body of every error response, unless the client prefers a problem. */
export interface ErrorBody {
  /** Description that a client may read. */
  message: string;
  /** Code that clients switch on. */
  code: ErrorCode;
  /** Lambda's id of the invocation, for support. */
  requestId: string | undefined;
  /** The id that the log lines have too. */
  correlationId: string | undefined;
  /** Messages by field, with status 400, and with 409 when a query maps the constraint that was violated. */
  errors?: Readonly<Record<string, string[]>>;
}

/** Gives the body of an error response another form, for clients that expect one. */
export type ErrorBodyFormat = (body: ErrorBody, statusCode: number) => unknown;

/**
 * Turns anything that was thrown into a response that is safe to send: status, headers and code of an `AppError`, 500
 * for everything else. From 500 on the message is the status' own phrase; causes, stacks, SQL and parameters never
 * leave. When the request's `Accept` header prefers `application/problem+json`, the body is an RFC 9457 problem.
 *
 * @param context Lambda's context.
 * @param error Anything that was thrown.
 * @param format Gets the safe body and returns the body to send. If it throws, the safe body is sent.
 * @returns A plain proxy result.
 *
 * @example
 * ```ts
 * import { buildErrorResponse } from "@trellis/fn/core";
 * import { NotFoundError } from "@trellis/fn/errors";
 * import { createLambdaContext } from "@trellis/fn/testing";
 *
 * const response = buildErrorResponse(createLambdaContext(), new NotFoundError("No such note"));
 * console.log(response.statusCode, JSON.parse(response.body).code); // 404 NOT_FOUND
 * ```
 */
export function buildErrorResponse(
  context: LambdaContext | undefined,
  error: unknown,
  format?: ErrorBodyFormat,
): ProxyResult {
  const invocation = getInvocation(context);
  const requestId = context?.awsRequestId ?? invocation?.requestId;
  const correlationId = invocation?.correlationId ?? requestId;
  const { status, code, message, errors, headers } = readError(error);
  const safe: ErrorBody = errors === undefined
    ? { message, code, requestId, correlationId }
    : { message, code, requestId, correlationId, errors };
  const problem = format === undefined && prefersProblem(invocation?.event as ApiEvent | undefined);
  const all: Record<string, string> = {
    "Content-Type": problem ? "application/problem+json" : "application/json",
  };
  for (const name in headers) all[name] = headers[name];
  if (correlationId !== undefined) all[CORRELATION_ID_HEADER] = correlationId;
  const body = problem
    ? toProblem(safe, status)
    : format === undefined
    ? safe
    : formatBody(format, safe, status);
  // errors have their own contract, also in handlers that declare responses
  return setOrigin(
    { statusCode: status, headers: all, body: JSON.stringify(body) ?? "" },
    UNDECLARED,
  );
}

function formatBody(format: ErrorBodyFormat, safe: ErrorBody, status: number): unknown {
  try {
    return format(safe, status);
  } catch (error) {
    logError("errorBody failed: the usual body is sent", { error });
    return safe;
  }
}

/** The same facts as a problem (RFC 9457, section 3.1). */
function toProblem(
  { message, code, ...facts }: ErrorBody,
  status: number,
): Record<string, unknown> {
  return {
    type: "about:blank",
    title: ERROR_CODES[code].title,
    status,
    detail: message,
    code,
    ...facts,
  };
}

interface ReadError {
  status: number;
  code: ErrorCode;
  message: string;
  errors: Readonly<Record<string, string[]>> | undefined;
  headers: Readonly<Record<string, string>> | undefined;
}

function readError(error: unknown): ReadError {
  try {
    const own = isAppError(error) ? error : readQueryCause(error);
    if (own !== undefined) return readAppError(own);
  } catch {
    // a thrown proxy or getter: nothing of it can be trusted
  }
  const { status, title } = ERROR_CODES.UNEXPECTED;
  return { status, code: "UNEXPECTED", message: title, errors: undefined, headers: undefined };
}

/** drizzle wraps each error of its driver. */
function readQueryCause(error: unknown): AppError | undefined {
  const { query, params, cause } = error as { query?: unknown; params?: unknown; cause?: unknown };
  return query !== undefined && params !== undefined && isAppError(cause) ? cause : undefined;
}

/** Codes whose errors may have messages by field. */
const HAS_FIELDS: ReadonlySet<ErrorCode> = new Set([
  "VALIDATION_FAILED",
  "UNIQUE_VIOLATION",
  "FOREIGN_KEY_VIOLATION",
]);

function readAppError(error: AppError): ReadError {
  // another version of the package may know codes that this one does not
  const code: ErrorCode = Object.hasOwn(ERROR_CODES, error.code) ? error.code : "UNEXPECTED";
  const { status, title } = ERROR_CODES[code];
  return {
    status,
    code,
    message: error.expose && status < 500 ? error.message : title,
    errors: HAS_FIELDS.has(code) ? (error as ValidationError).errors : undefined,
    headers: error.headers,
  };
}

/** Checks whether `application/problem+json` is accepted with at least the weight of `application/json` (RFC 9110, 12.5.1). */
function prefersProblem(event: ApiEvent | undefined): boolean {
  const accept = event && getHeader(event, "Accept", "accept");
  if (!accept || !/problem\+json/i.test(accept)) return false;
  const problem = getWeight(accept, "application/problem+json") ?? 0;
  const json = getWeight(accept, "application/json") ?? getWeight(accept, "application/*") ??
    getWeight(accept, "*/*") ??
    0;
  return problem > 0 && problem >= json;
}
