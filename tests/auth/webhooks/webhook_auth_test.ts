import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import * as z from "zod";
import { createWebhookAuth, validateGitHubWebhook } from "../../../auth/mod.ts";
import { getHeader } from "../../../core/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../../testing/mod.ts";
import { defineApiHandler, reply } from "../../../validation/mod.ts";

Deno.test("createWebhookAuth() checks the signature before the body is parsed", async () => {
  const handler = defineApiHandler({
    auth: createWebhookAuth((payload, event) =>
      validateGitHubWebhook(payload, getHeader(event, "X-Hub-Signature-256"), "secret")
    ),
    schema: z.object({ action: z.string() }),
    responses: { 200: z.object({ received: z.string() }) },
    logging: { level: "SILENT" },
    metrics: false,
  })(({ body }) => reply(200, { received: body.action }));
  async function send(body: string, secret = "secret"): Promise<[number, string]> {
    const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
    const headers = { "X-Hub-Signature-256": signature };
    const event = createRestApiEvent({ method: "POST", body, headers });
    const answer = await handler(event, createLambdaContext());
    return [answer.statusCode, answer.body];
  }
  assertEquals(await send('{"action":"opened"}'), [200, '{"received":"opened"}']);
  assertEquals((await send('{"action":1}'))[0], 400);
  assertEquals((await send("not JSON", "another"))[0], 401);
});
