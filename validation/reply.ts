import type { ResponseOptions } from "../core/http/response.ts";

/** Response of a handler; create it with {@link reply}. */
export class Reply<
  TStatus extends number = number,
  TValue = unknown,
  TOptions = ResponseOptions | undefined,
> {
  /** HTTP status. */
  readonly status: TStatus;
  /** The body before it is validated and serialized. */
  readonly value: TValue;
  /** Headers and cookies. */
  readonly options: TOptions;

  /**
   * @param status HTTP status.
   * @param value The body.
   * @param options Headers and cookies.
   */
  constructor(status: TStatus, value: TValue, options: TOptions) {
    this.status = status;
    this.value = value;
    this.options = options;
  }
}

/**
 * A hint for the compiler: beside it `{ reason: "full" }` is not widened to `{ reason: string }`, also if another status has the
 * field `reason`.
 */
export interface KeptLiterals {
  readonly [field: string]:
    | ""
    | 0
    | false
    | KeptLiterals
    | readonly ("" | 0 | false | KeptLiterals)[];
}

/**
 * Creates the response of a handler. The compiler checks body and headers against the schemas of the status in `responses`. A
 * handler that declares no responses can reply without a body only.
 *
 * @param status HTTP status. A key of `responses`; with `responseSchema` a status of success.
 * @param value The body, as the schema takes it. Leave it out for a response without a body.
 * @param options Headers and cookies.
 * @returns The response.
 *
 * @example
 * ```ts
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler, reply } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const Note = z.object({ id: z.string() });
 * const Problem = z.object({ reason: z.string() });
 * const handler = defineApiHandler({
 *   responses: { 201: Note, 409: Problem },
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function createNote({ event }) {
 *   if (event.headers?.["x-full"]) return reply(409, { reason: "The notebook is full" });
 *   return reply(201, { id: "n1" }, { headers: { Location: "/notes/n1" } });
 * });
 *
 * const event = createRestApiEvent({ method: "POST", path: "/notes" });
 * console.log((await handler(event, createLambdaContext())).statusCode); // 201
 * ```
 */
export function reply<const TStatus extends number>(
  status: TStatus,
): Reply<TStatus, undefined, undefined>;
/** Creates a response with a body. */
export function reply<
  const TStatus extends number,
  TValue,
  TOptions extends ResponseOptions | undefined = undefined,
>(
  status: TStatus,
  value: TValue | KeptLiterals,
  options?: TOptions,
): Reply<TStatus, TValue, TOptions>;
export function reply(
  status: number,
  value?: unknown,
  options?: ResponseOptions,
): Reply {
  return new Reply(status, value, options);
}
