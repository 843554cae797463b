import { encodeBase64 } from "../../core/http/base64.ts";
import type { LambdaContext, ProxyResult } from "../../core/http/lambda.ts";
import { parseJsonOr } from "../../core/http/parse_json.ts";
import { ERROR_CODES, type ErrorCode } from "../../errors/error_code.ts";

/** The safe body of an error response of the auth routes. */
export interface AuthErrorBody {
  /** Text for the client. */
  message: string;
  /** better-auth's code such as `INVALID_EMAIL_OR_PASSWORD`, or a code of this package. */
  code: string;
  /** Lambda's id of the invocation. */
  requestId: string | undefined;
  /** The id in the log lines of the request. */
  correlationId: string | undefined;
}

/** The ids of a request. */
export interface ResponseIds {
  readonly context: LambdaContext;
  readonly correlationId: string;
}

/**
 * Converts a response of better-auth. Errors without a body get one. With `errorBody`, error bodies
 * are converted.
 *
 * @param response better-auth's response.
 * @param ids The ids for error bodies.
 * @param errorBody The option of `createAuthHandler`.
 * @returns A result with all headers and cookies.
 */
export async function toProxyResult(
  response: Response,
  ids: ResponseIds,
  errorBody?: (body: AuthErrorBody, statusCode: number) => unknown,
): Promise<ProxyResult> {
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) if (name !== "set-cookie") headers[name] = value;
  const result: ProxyResult = { statusCode: response.status, headers, body: "" };
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) result.cookies = cookies;
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status >= 400) {
    const error = readError(bytes, response, ids, errorBody === undefined);
    if (error !== undefined) {
      headers["content-type"] = "application/json";
      delete headers["content-length"];
      result.body = JSON.stringify(errorBody?.(error, response.status) ?? error);
      return result;
    }
  }
  const type = response.headers.get("content-type");
  result.isBase64Encoded = bytes.length > 0 && type !== null &&
    !/^text\/|json|xml|javascript/i.test(type);
  result.body = result.isBase64Encoded ? encodeBase64(bytes) : new TextDecoder().decode(bytes);
  return result;
}

/**
 * Returns the body of an error response; `undefined` to keep better-auth's own body, such as a page
 * or a JSON body without `errorBody`.
 */
function readError(
  bytes: Uint8Array,
  response: Response,
  { context, correlationId }: ResponseIds,
  keepsJson: boolean,
): AuthErrorBody | undefined {
  const isEmpty = bytes.length === 0;
  const isJson = /json/i.test(response.headers.get("content-type") ?? "");
  if (!isEmpty && (keepsJson || !isJson)) return undefined;
  const given = isEmpty ? {} : Object(parseJsonOr(new TextDecoder().decode(bytes)));
  const [code, title] = getStatusCode(response.status);
  return {
    message: typeof given.message === "string" ? given.message : title,
    code: typeof given.code === "string" ? given.code : code,
    requestId: context.awsRequestId,
    correlationId,
  };
}

/** Returns this package's code and title of a status. */
function getStatusCode(status: number): readonly [code: string, title: string] {
  const found = (Object.keys(ERROR_CODES) as ErrorCode[]).find((code) =>
    ERROR_CODES[code].status === status
  );
  if (found !== undefined) return [found, ERROR_CODES[found].title];
  return status >= 500
    ? ["UNEXPECTED", ERROR_CODES.UNEXPECTED.title]
    : ["VALIDATION_FAILED", "The request was refused"];
}
