import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { signStandardWebhook, validateStandardWebhook } from "../../../auth/mod.ts";
import { nodeHmac, setHmacEngine, webHmac } from "../../../core/http/hmac.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import * as nodeCrypto from "node:crypto";
import { atTime } from "../auth_database.ts";
import { testSeed } from "../../support/seed.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEXT = `whsec_${btoa("another key of 24 bytes!")}`;
const ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const BODY = '{"test": 2432232314}';

Deno.test("signStandardWebhook() gives the vector of the specification's reference libraries", async () => {
  for (const engine of [webHmac, nodeHmac(nodeCrypto)]) {
    setHmacEngine(engine);
    const headers = await atTime(1614265330_999, () => signStandardWebhook(BODY, ID, SECRET));
    assertEquals(headers, {
      "webhook-id": ID,
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    });
  }
  setHmacEngine(undefined);
});

Deno.test("the libraries of Standard Webhooks and Svix accept what signStandardWebhook() signs, and nothing else", async () => {
  const messages = fc.sample(
    fc.record({
      text: fc.string({ unit: "grapheme", maxLength: 200 }),
      id: fc.string({ unit: fc.constantFrom(..."abcXYZ019_-:/"), minLength: 1, maxLength: 40 }),
      key: fc.uint8Array({ minLength: 24, maxLength: 64 }),
      isBinary: fc.boolean(),
    }),
    { numRuns: 500, seed: testSeed },
  );
  for (const { text, id, key, isBinary } of messages) {
    const body = JSON.stringify({ text });
    const secret = `whsec_${key.toBase64()}`;
    const payload = isBinary ? new TextEncoder().encode(body) : body;
    const headers = await signStandardWebhook(payload, id, secret);
    for (const library of [new Webhook(secret), new SvixWebhook(secret)]) {
      library.verify(body, { ...headers });
      assertThrows(() => library.verify(`${body} `, { ...headers }));
    }
    assertThrows(() => new Webhook(NEXT).verify(body, { ...headers }));
    await validateStandardWebhook(payload, { ...headers }, secret);
  }
});

Deno.test("signStandardWebhook() signs with each secret of a rotation", async () => {
  const headers = await signStandardWebhook(BODY, ID, [NEXT, SECRET]);
  for (const secret of [NEXT, SECRET]) new Webhook(secret).verify(BODY, { ...headers });
});

for (
  const [what, payload, id, secret] of [
    ["an id with a full stop", BODY, "a.1", SECRET],
    ["an empty id", BODY, "", SECRET],
    ["an id with a line break", BODY, "a\r\nX-Admin: 1", SECRET],
    ["an id that is not ASCII", BODY, "é", SECRET],
    ["an id that is no text", BODY, 1 as never, SECRET],
    ["a secret that is no base64", BODY, ID, "whsec_not base64"],
    ["an empty secret", BODY, ID, ""],
    ["a parsed object", {} as never, ID, SECRET],
  ] as const
) {
  Deno.test(`signStandardWebhook() refuses ${what}`, async () => {
    await assertRejects(() => signStandardWebhook(payload, id, secret), ConfigurationError);
  });
}
