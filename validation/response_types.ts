import type { $ZodType } from "zod/v4/core";
import type { ProxyResult } from "../core/http/lambda.ts";
import type { ResponseOptions } from "../core/http/response.ts";
import type { Reply } from "./reply.ts";

/** A response with declared headers. */
export interface DeclaredResponse {
  /**
   * Schema of the body.
   * @default undefined, a response without a body
   */
  readonly body?: $ZodType;
  /** Schema of the headers, an object with names in lower case. */
  readonly headers?: $ZodType;
}

/** Schemas of a handler's responses by status. */
export interface ResponseSchemas {
  /** Schema of the body, or the body with its headers. */
  readonly [status: number]: $ZodType | DeclaredResponse;
}

/** Returns the schemas of a declared response. */
export function getDeclaredParts(declared: $ZodType | DeclaredResponse): DeclaredResponse {
  return "_zod" in declared ? { body: declared } : declared;
}

/** Conditions under which the bodies of a handler are validated. */
export type ResponseValidation = "always" | "development" | "never";

/** Statuses of success. */
export type SuccessStatus = 200 | 201 | 202 | 203 | 204 | 205 | 206 | 207 | 208 | 226;

/**
 * Result of a handler: a proxy result, or a `reply`. With `responseSchema` or `responses` the reply has a body, and the
 * handler can return the body itself if there is one status of success.
 */
export type HandlerResult<TResponse, TResponses> =
  | ProxyResult
  | (unknown extends TResponse ? number extends keyof TResponses ? Reply<number, undefined> : never
    : never)
  | (unknown extends TResponse ? never : TResponse | Reply<SuccessStatus, TResponse>)
  | (number extends keyof TResponses ? never : StatusReply<TResponses> | SoleBody<TResponses>);

/** A `reply` with the body of its status. */
export type StatusReply<TResponses> = {
  [TStatus in keyof TResponses & number]: Reply<
    TStatus,
    Accepted<TResponses[TStatus]>,
    AcceptedOptions<TResponses[TStatus]>
  >;
}[keyof TResponses & number];

/** The body of the status of success, if there is only one and it has no required headers. */
export type SoleBody<TResponses, TStatus = keyof TResponses & SuccessStatus> = TStatus extends
  keyof TResponses
  ? [keyof TResponses & SuccessStatus] extends [TStatus]
    ? undefined extends AcceptedOptions<TResponses[TStatus]> ? Accepted<TResponses[TStatus]> : never
  : never
  : never;

/** The value that a schema, or a declared response as its body, takes. */
export type Accepted<TSchema> = TSchema extends { _zod: { input: infer TInput } } ? TInput
  : TSchema extends { body: infer TBody } ? Accepted<TBody>
  : undefined;

/** The options that a reply of a declared response takes: with its headers if some are required. */
export type AcceptedOptions<TDeclared> = TDeclared extends
  { headers: { _zod: { input: infer THeaders } } }
  ? object extends THeaders ? ResponseOptions | undefined : { headers: THeaders }
  : ResponseOptions | undefined;
