import type { ErrorCode } from "../errors/error_code.ts";

/**
 * Thrown by {@link unwrap} when the API answers with an error.
 *
 * @example
 * ```ts
 * import { ApiError } from "@trellis/fn/client";
 *
 * const body = { code: "CONFLICT", message: "The title is taken" };
 * const error = new ApiError(new Response(null, { status: 409 }), body);
 * console.log(error.status, error.code, error.message); // 409 CONFLICT The title is taken
 * ```
 */
export class ApiError<Body = unknown> extends Error {
  /** Always `ApiError`, also in minified code. */
  override readonly name: string = "ApiError";
  /** The status of the response. */
  readonly status: number;
  /** The code to switch on; `undefined` if the body has none. */
  readonly code: ErrorCode | (string & Record<never, never>) | undefined;
  /** Messages by field of a rejected request: `{ "address.zip": ["Too short"] }`. */
  readonly errors: Readonly<Record<string, readonly string[]>> | undefined;
  /** The id of the invocation, for support. */
  readonly requestId: string | undefined;
  /** The id in the log lines of the request. */
  readonly correlationId: string | undefined;

  /**
   * @param response The response.
   * @param body Its parsed body.
   */
  constructor(readonly response: Response, readonly body: Body) {
    const fields = (typeof body === "object" && body !== null ? body : {}) as Record<string, never>;
    super(fields.message ?? `The API answered with status ${response.status}`);
    this.status = response.status;
    this.code = fields.code;
    this.errors = fields.errors;
    this.requestId = fields.requestId;
    this.correlationId = fields.correlationId ?? response.headers.get("X-Correlation-Id") ??
      undefined;
  }
}
