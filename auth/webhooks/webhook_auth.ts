import { readRawBody } from "../../core/http/api_event.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";

/**
 * Creates the check of a signed webhook for the option `auth`. The signature of the raw body is checked before the body is
 * parsed, so that a handler with `schema` gets a typed body of the sender.
 *
 * @param validate Checks the raw body with one of the `validate…Webhook` functions. It throws `UnauthorizedError`.
 * @returns The value of the handler's option `auth`.
 *
 * @example
 * ```ts
 * import { createWebhookAuth, validateGitHubWebhook } from "@trellis/fn/auth";
 * import { getHeader } from "@trellis/fn/core";
 * import { defineApiHandler, reply } from "@trellis/fn/validation";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const handler = defineApiHandler({
 *   auth: createWebhookAuth((payload, event) =>
 *     validateGitHubWebhook(payload, getHeader(event, "X-Hub-Signature-256"), "the secret")
 *   ),
 *   schema: z.object({ action: z.string() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function onPush({ body }) {
 *   return reply(202, undefined, { headers: { "X-Action": body.action } });
 * });
 *
 * const forged = createRestApiEvent({ method: "POST", body: { action: "opened" } });
 * console.log((await handler(forged, createLambdaContext())).statusCode); // 401
 * ```
 */
export function createWebhookAuth(
  validate: (payload: Uint8Array<ArrayBuffer>, event: ApiEvent) => Promise<void>,
): AuthMethod {
  return {
    mode: "none",
    async authenticate(event) {
      await validate(readRawBody(event), event);
      return {};
    },
  };
}
