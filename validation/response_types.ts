import type { $ZodType } from "zod/v4/core";
import type { ProxyResult } from "../core/http/lambda.ts";
import type { Reply } from "./reply.ts";

/** Schemas of a handler's response bodies by status. */
export interface ResponseSchemas {
  /** Schema of the body. */
  readonly [status: number]: $ZodType;
}

/** Conditions under which the bodies of a handler are validated. */
export type ResponseValidation = "always" | "development" | "never";

/** Statuses of success. */
export type SuccessStatus = 200 | 201 | 202 | 203 | 204 | 206 | 207 | 208 | 226;

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
  [TStatus in keyof TResponses & number]: Reply<TStatus, Accepted<TResponses[TStatus]>>;
}[keyof TResponses & number];

/** The body of the status of success, if there is only one. */
export type SoleBody<TResponses, TStatus = keyof TResponses & SuccessStatus> = TStatus extends
  keyof TResponses
  ? [keyof TResponses & SuccessStatus] extends [TStatus] ? Accepted<TResponses[TStatus]> : never
  : never;

/** The value that a schema takes. */
export type Accepted<TSchema> = TSchema extends { _zod: { input: infer TInput } } ? TInput : never;
