import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import * as nodeCrypto from "node:crypto";
import { nodeHmac, setHmacEngine, webHmac } from "../../core/http/hmac.ts";
import {
  validateCodeHostWebhook,
  validatePaymentsWebhook,
  validateStandardWebhook,
  validateWebhookSignature,
  type WebhookHeaders,
} from "../../auth/mod.ts";
import { UnauthorizedError } from "../../errors/mod.ts";
import { properties } from "./seeded.ts";
import { anyCharacter } from "../support/any_character.ts";

const { property } = properties("webhook headers", 300);

const SECRET = "It's a Secret to Everybody";
const STANDARD_SECRET = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ENGINES = [webHmac, nodeHmac(nodeCrypto)];

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom("", "\0", "\r\n", "é", "=", ",", "."),
);
const body = fc.oneof(text, fc.uint8Array({ maxLength: 40 }));

type Payload = string | Uint8Array;

/** A kind of webhook: how a sender signs, and how the header is checked. */
interface Scheme {
  readonly sign: (payload: Payload) => string;
  readonly check: (payload: Payload, header: string) => Promise<void>;
}

function hmac(
  algorithm: string,
  secret: string | Uint8Array,
  before: string,
  payload: Payload,
): nodeCrypto.Hmac {
  return nodeCrypto.createHmac(algorithm, secret).update(before).update(payload);
}

const SCHEMES: Readonly<Record<string, Scheme>> = {
  "code host": {
    sign: (payload) => `sha256=${hmac("sha256", SECRET, "", payload).digest("hex")}`,
    check: (payload, header) => validateCodeHostWebhook(payload, header, ["another", SECRET]),
  },
  payments: {
    sign: (payload) =>
      `t=1700000000,v1=${hmac("sha256", SECRET, "1700000000.", payload).digest("hex")}`,
    check: (payload, header) => validatePaymentsWebhook(payload, header, SECRET, Infinity),
  },
  "sha1 without a prefix": {
    sign: (payload) => hmac("sha1", SECRET, "", payload).digest("hex"),
    check: (payload, signature) =>
      validateWebhookSignature({ payload, signature, secret: SECRET, algorithm: "sha1" }),
  },
  sha512: {
    sign: (payload) => `v0=${hmac("sha512", SECRET, "", payload).digest("hex")}`,
    check: (payload, signature) =>
      validateWebhookSignature({
        payload,
        signature,
        secret: SECRET,
        algorithm: "sha512",
        prefix: "v0=",
      }),
  },
  standard: {
    sign: (payload) => `v1,${standardSignature(payload)}`,
    check: (payload, header) => checkStandard(payload, { "webhook-signature": header }),
  },
};

function standardSignature(payload: Payload): string {
  return hmac("sha256", Buffer.from(STANDARD_SECRET, "base64"), "msg_1.1700000000.", payload)
    .digest("base64");
}

function checkStandard(
  payload: Payload,
  headers: Record<string, string | undefined>,
): Promise<void> {
  const sound = { "webhook-id": "msg_1", "webhook-timestamp": "1700000000" };
  return validateStandardWebhook(
    payload,
    { ...sound, ...headers },
    `whsec_${STANDARD_SECRET}`,
    Infinity,
  );
}

/** What both engines say: `true` for a good signature, else the refusal's message, which is the same for both. */
async function verdict(check: () => Promise<void>): Promise<true | string> {
  const verdicts: (true | string)[] = [];
  for (const engine of ENGINES) {
    setHmacEngine(engine);
    try {
      await check();
      verdicts.push(true);
    } catch (error) {
      assertInstanceOf(error, UnauthorizedError);
      verdicts.push(error.message);
    } finally {
      setHmacEngine(undefined);
    }
  }
  assertEquals(verdicts[0], verdicts[1]);
  return verdicts[0];
}

const kind = fc.constantFrom(...Object.keys(SCHEMES));
/** One change of a text: something put in, taken out, or another character in a place. */
const pieces = [
  "0",
  "a",
  "A",
  "=",
  ",",
  " ",
  "t=1,",
  ",t=1",
  "t=1700000000,",
  "v1=",
  "v1,",
  "sha256=",
];
const edit = fc.record({
  at: fc.oneof(fc.constantFrom(0, -1), fc.nat(200)),
  cut: fc.nat(3),
  put: fc.oneof({ arbitrary: text, weight: 1 }, {
    arbitrary: fc.constantFrom(...pieces),
    weight: 3,
  }),
});

property(
  "a webhook's header as the sender made it is accepted, whatever the body",
  fc.asyncProperty(kind, body, async (name, payload) => {
    const { sign, check } = SCHEMES[name];
    assertEquals(await verdict(() => check(payload, sign(payload))), true, name);
  }),
);

property(
  "a webhook's header that was changed is refused with UnauthorizedError, unless it says the same",
  fc.asyncProperty(
    kind,
    body,
    fc.array(edit, { minLength: 1, maxLength: 3 }),
    async (name, payload, edits) => {
      const { sign, check } = SCHEMES[name];
      const sound = sign(payload);
      let header = sound;
      for (const { at, cut, put } of edits) {
        const place = at < 0 ? header.length : at % (header.length + 1);
        header = header.slice(0, place) + put + header.slice(place + cut);
      }
      const result = await verdict(() => check(payload, header));
      if (result === true) {
        assertEquals(
          getMeanings(name, header).includes(getMeanings(name, sound)[0]),
          true,
          header,
        );
      } else {
        for (const secret of [SECRET, STANDARD_SECRET, sound.slice(-20)]) {
          assert(
            !result.includes(secret),
            result,
          );
        }
        assert(result.length < 120, result);
      }
    },
  ),
);

/** What a header that is accepted claims: time and signature bytes, in the one way that the scheme writes them. */
function getMeanings(name: string, header: string): string[] {
  if (name === "standard") {
    return header.split(" ").filter((entry) => entry.startsWith("v1,")).map((entry) => {
      // base64 leaves bits over in its last letter
      const base64 = entry.slice("v1,".length);
      return /^[A-Za-z0-9+/]*={0,2}$/.test(base64) && base64.length % 4 === 0
        ? btoa(atob(base64))
        : "";
    });
  }
  if (name !== "payments") return [header.replace(/[0-9a-f]{40,}$/i, (hex) => hex.toLowerCase())];
  const parts = header.split(",").map((part) => part.split("="));
  const times = parts.filter(([key]) => key === "t").map(([, value]) => value);
  return parts.filter(([key]) => key === "v1").map(([, value]) =>
    `${times.join("+")} ${value?.toLowerCase()}`
  );
}

property(
  "a webhook with another body, or headers of no sense, is refused with UnauthorizedError and no other error",
  fc.asyncProperty(kind, body, body, text, async (name, payload, other, header) => {
    const { sign, check } = SCHEMES[name];
    const same =
      new TextDecoder().decode(toBytes(payload)) === new TextDecoder().decode(toBytes(other));
    if (!same) assert(await verdict(() => check(other, sign(payload))) !== true, name);
    assert(await verdict(() => check(payload, header)) !== true, name);
  }),
);

function toBytes(payload: Payload): Uint8Array {
  return typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
}

property(
  "validateStandardWebhook() bears any headers, and takes nothing from id to body or back",
  fc.asyncProperty(
    fc.dictionary(
      fc.oneof(
        fc.constantFrom(
          "webhook-id",
          "Webhook-Id",
          "webhook-timestamp",
          "webhook-signature",
          "get",
        ),
        text,
      ),
      fc.option(text, { nil: undefined }),
      { maxKeys: 4 },
    ),
    fc.constantFrom(null, undefined, {}, {
      "webhook-id": ["a"],
      "webhook-timestamp": 1,
      "webhook-signature": {},
    }),
    fc.string({ maxLength: 10 }),
    async (headers, odd, payload) => {
      assert(await verdict(() => checkStandard(payload, headers)) !== true);
      const asked = () =>
        validateStandardWebhook(payload, odd as unknown as WebhookHeaders, STANDARD_SECRET);
      assert(await verdict(asked) !== true);
      // the same signed bytes, cut in another place
      const shifted = { "webhook-id": "msg_1.1700000000", "webhook-timestamp": "1700000000" };
      const signature = `v1,${standardSignature(`1700000000.${payload}`)}`;
      const headersOfShifted = { ...shifted, "webhook-signature": signature };
      assert(await verdict(() => checkStandard(payload, headersOfShifted)) !== true);
    },
  ),
);
