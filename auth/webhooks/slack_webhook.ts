import {
  findHeader,
  type WebhookHeaders,
  type WebhookPayload,
  type WebhookSecret,
} from "./webhook_input.ts";
import { validateWebhookSignature } from "./webhooks.ts";

/**
 * Checks a request of Slack: HMAC-SHA256 over `v0:<timestamp>:<raw body>`, in hexadecimal, with the
 * headers `X-Slack-Signature` (`v0=<hex>`) and `X-Slack-Request-Timestamp`.
 * Source: Slack's documentation, "Verifying requests from Slack".
 *
 * @param payload The raw request body.
 * @param headers The request's headers, such as `event.headers`.
 * @param secret The app's signing secret, or several during a rotation.
 * @param toleranceSeconds Maximum difference of the timestamp from the current time. Default: 300.
 * @returns A promise that resolves if signature and timestamp are valid.
 * @throws {UnauthorizedError} If a header is missing or malformed, the signature is invalid, too
 * old or from the future.
 * @throws {ConfigurationError} If the secret is empty or the tolerance is not a number from 0.
 *
 * @example
 * ```ts
 * import { validateSlackWebhook } from "@trellis/fn/auth";
 *
 * const body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V" +
 *   "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
 *   "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
 *   "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
 * const headers = {
 *   "X-Slack-Request-Timestamp": "1531420618",
 *   "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
 * };
 * const secret = "8f742231b10e8888abcd99yyyzzz85a5";
 * await validateSlackWebhook(body, headers, secret, Infinity); // Infinity: Slack's own example is of 2018
 * ```
 */
export async function validateSlackWebhook(
  payload: WebhookPayload,
  headers: WebhookHeaders,
  secret: WebhookSecret,
  toleranceSeconds = 300,
): Promise<void> {
  const timestamp = findHeader(headers, "x-slack-request-timestamp");
  await validateWebhookSignature({
    payload: [`v0:${timestamp}:`, payload],
    signature: findHeader(headers, "x-slack-signature"),
    secret,
    prefix: "v0=",
    headerName: "X-Slack-Signature",
    timestamp,
    timestampHeaderName: "X-Slack-Request-Timestamp",
    toleranceSeconds,
  });
}
