import { assertEquals, assertFalse, assertInstanceOf } from "@std/assert";
import * as nodeCrypto from "node:crypto";
import { type HmacEngine, nodeHmac, setHmacEngine, webHmac } from "../../../core/http/hmac.ts";
import {
  validateCodeHostWebhook,
  validatePaymentsWebhook,
  validateStripeWebhook,
  validateWebhookSignature,
  type WebhookPayload,
  type WebhookSecret,
} from "../../../auth/mod.ts";
import { ConfigurationError, isAppError, UnauthorizedError } from "../../../errors/mod.ts";
import { atTime } from "../auth_database.ts";

const ENGINES: [string, HmacEngine][] = [["Web Crypto", webHmac], [
  "node:crypto",
  nodeHmac(nodeCrypto),
]];

/** Runs a check once on each engine, expects the same of both, and gives what came of it. */
async function outcome(check: () => Promise<void>): Promise<string> {
  const results: string[] = [];
  for (const [, engine] of ENGINES) {
    setHmacEngine(engine);
    try {
      await check();
      results.push("accepted");
    } catch (error) {
      if (!isAppError(error)) throw error;
      assertInstanceOf(
        error,
        error.code === "UNAUTHORIZED" ? UnauthorizedError : ConfigurationError,
      );
      results.push(`${error.code}: ${error.message}`);
    } finally {
      setHmacEngine(undefined);
    }
  }
  assertEquals(results[0], results[1]);
  return results[0];
}

function hmac(secret: string, data: string | Uint8Array, algorithm = "sha256"): string {
  return nodeCrypto.createHmac(algorithm, secret).update(data).digest("hex");
}

// GitHub's documentation, "Validating webhook deliveries": secret, payload and result
const SECRET = "It's a Secret to Everybody";
const PAYLOAD = "Hello, World!";
const HEX = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
const HEADER = `sha256=${HEX}`;
const MISMATCH = "UNAUTHORIZED: The signature in the X-Hub-Signature-256 header does not match";
const MALFORMED = "UNAUTHORIZED: The X-Hub-Signature-256 header is malformed";
const MISSING = "UNAUTHORIZED: The X-Hub-Signature-256 header is missing";
const NO_SECRET =
  "CONFIGURATION: The secret for X-Hub-Signature-256 is missing or empty: set it, each one if it is a list";

const bytes = (text: string) => new TextEncoder().encode(text);
const large = new Uint8Array(1 << 20).map((_, i) => (i * 31) % 256);

const CODE_HOST: [
  name: string,
  payload: unknown,
  header: unknown,
  secret: unknown,
  expected: string,
][] = [
  ["the documented example", PAYLOAD, HEADER, SECRET, "accepted"],
  ["a body of bytes", bytes(PAYLOAD), HEADER, SECRET, "accepted"],
  ["an upper-case signature", PAYLOAD, `sha256=${HEX.toUpperCase()}`, SECRET, "accepted"],
  [
    "a multi-byte body",
    "naïve – 日本語 – 😀",
    `sha256=${hmac(SECRET, bytes("naïve – 日本語 – 😀"))}`,
    SECRET,
    "accepted",
  ],
  [
    "a body that is no UTF-8",
    new Uint8Array([0xff, 0, 0xfe]),
    `sha256=${hmac(SECRET, new Uint8Array([0xff, 0, 0xfe]))}`,
    SECRET,
    "accepted",
  ],
  [
    "a part of a larger buffer",
    bytes(`..${PAYLOAD}..`).subarray(2, -2),
    HEADER,
    SECRET,
    "accepted",
  ],
  ["a body of 1 MB", large, `sha256=${hmac(SECRET, large)}`, SECRET, "accepted"],
  ["an empty body", "", `sha256=${hmac(SECRET, "")}`, SECRET, "accepted"],
  ["no body", null, `sha256=${hmac(SECRET, "")}`, SECRET, "accepted"],
  ["the first of two secrets", PAYLOAD, HEADER, [SECRET, "next"], "accepted"],
  ["the second of two secrets", PAYLOAD, HEADER, ["next", SECRET], "accepted"],
  ["a tampered body", `${PAYLOAD} `, HEADER, SECRET, MISMATCH],
  [
    "a body of 1 MB with one bit changed",
    large.with(large.length - 1, large.at(-1)! ^ 1),
    `sha256=${hmac(SECRET, large)}`,
    SECRET,
    MISMATCH,
  ],
  ["no body with a signature over another", null, HEADER, SECRET, MISMATCH],
  ["a tampered signature", PAYLOAD, `sha256=8${HEX.slice(1)}`, SECRET, MISMATCH],
  ["another secret", PAYLOAD, HEADER, "secret", MISMATCH],
  ["two other secrets", PAYLOAD, HEADER, ["a", "b"], MISMATCH],
  ["a signature without its prefix", PAYLOAD, HEX, SECRET, MALFORMED],
  ["another prefix", PAYLOAD, `sha1=${HEX}`, SECRET, MALFORMED],
  ["a prefix in another case", PAYLOAD, `SHA256=${HEX}`, SECRET, MALFORMED],
  ["the prefix alone", PAYLOAD, "sha256=", SECRET, MALFORMED],
  ["the prefix twice", PAYLOAD, `sha256=${HEADER}`, SECRET, MALFORMED],
  ["a short signature", PAYLOAD, HEADER.slice(0, -2), SECRET, MALFORMED],
  ["a long signature", PAYLOAD, `${HEADER}00`, SECRET, MALFORMED],
  ["a signature that is no hex", PAYLOAD, `sha256=${"g".repeat(64)}`, SECRET, MALFORMED],
  ["a space behind the signature", PAYLOAD, `${HEADER.slice(0, -1)} `, SECRET, MALFORMED],
  ["a missing header", PAYLOAD, undefined, SECRET, MISSING],
  ["a header that is null", PAYLOAD, null, SECRET, MISSING],
  ["an empty header", PAYLOAD, "", SECRET, MISSING],
  ["an empty secret", PAYLOAD, `sha256=${hmac("", PAYLOAD)}`, "", NO_SECRET],
  ["an absent secret", PAYLOAD, HEADER, undefined, NO_SECRET],
  ["an empty list of secrets", PAYLOAD, HEADER, [], NO_SECRET],
  ["an empty secret beside a good one", PAYLOAD, HEADER, [SECRET, ""], NO_SECRET],
  ["an empty secret and no header", PAYLOAD, undefined, "", NO_SECRET],
];

for (const [name, payload, header, secret, expected] of CODE_HOST) {
  const verdict = expected === "accepted" ? "accepts" : "refuses";
  Deno.test(`validateCodeHostWebhook() ${verdict} ${name}`, async () => {
    const check = () =>
      validateCodeHostWebhook(payload as WebhookPayload, header as string, secret as WebhookSecret);
    assertEquals(await outcome(check), expected);
  });
}

for (const algorithm of ["sha1", "sha256", "sha384", "sha512"] as const) {
  Deno.test(`validateWebhookSignature() checks ${algorithm}`, async () => {
    const signature = hmac("key", "body", algorithm);
    const check = (changes: object) => () =>
      validateWebhookSignature({
        payload: "body",
        signature,
        secret: "key",
        algorithm,
        ...changes,
      });
    assertEquals(await outcome(check({})), "accepted");
    assertEquals(
      await outcome(check({ payload: "Body" })),
      "UNAUTHORIZED: The signature in the X-Signature header does not match",
    );
    assertEquals(
      await outcome(check({ signature: signature.slice(2) })),
      "UNAUTHORIZED: The X-Signature header is malformed",
    );
  });
}

Deno.test("validateWebhookSignature() uses SHA-256, no prefix and the name X-Signature by default", async () => {
  assertEquals(
    await outcome(() =>
      validateWebhookSignature({ payload: PAYLOAD, signature: HEX, secret: SECRET })
    ),
    "accepted",
  );
  const missing = () =>
    validateWebhookSignature({ payload: PAYLOAD, signature: "", secret: SECRET });
  assertEquals(await outcome(missing), "UNAUTHORIZED: The X-Signature header is missing");
  const named = () =>
    validateWebhookSignature({
      payload: PAYLOAD,
      signature: "",
      secret: SECRET,
      headerName: "X-My-Mac",
    });
  assertEquals(await outcome(named), "UNAUTHORIZED: The X-My-Mac header is missing");
});

Deno.test("validateWebhookSignature() refuses an algorithm that it does not know", async () => {
  for (const algorithm of ["md5", "SHA256", "toString", ""]) {
    const check = () =>
      validateWebhookSignature({
        payload: "",
        signature: "00",
        secret: "s",
        algorithm: algorithm as "sha1",
      });
    assertEquals(
      await outcome(check),
      `CONFIGURATION: algorithm must be one of sha1, sha256, sha384, sha512, got "${algorithm}"`,
    );
  }
});

Deno.test("validateWebhookSignature() refuses a parsed body", async () => {
  const check = () =>
    validateWebhookSignature({ payload: {} as string, signature: HEX, secret: SECRET });
  assertEquals(
    await outcome(check),
    "CONFIGURATION: A webhook's payload must be the raw body as a string or bytes, got object: the signature is over the exact bytes",
  );
});

Deno.test("validateWebhookSignature() shows neither the secret nor the right signature when it rejects", async () => {
  for (const signature of ["", "zz", "0".repeat(64)]) {
    const message = await outcome(() =>
      validateWebhookSignature({ payload: PAYLOAD, signature, secret: SECRET })
    );
    assertFalse(message.includes(SECRET) || message.includes(HEX) || message.includes(PAYLOAD));
  }
});

const NOW_SECONDS = 1_893_456_000;
const base64 = (text: string) =>
  nodeCrypto.createHmac("sha256", SECRET).update(text).digest("base64");
const signedAt = (seconds: number | string, body = PAYLOAD) => ({
  payload: [`${seconds}.`, body],
  signature: hmac(SECRET, `${seconds}.${body}`),
  timestamp: `${seconds}`,
});
const X_MISMATCH = "UNAUTHORIZED: The signature in the X-Signature header does not match";
const X_MALFORMED = "UNAUTHORIZED: The X-Signature header is malformed";

const OPTIONS: [name: string, options: object, expected: string][] = [
  ["base64", { encoding: "base64", signature: base64(PAYLOAD) }, "accepted"],
  [
    "base64 behind a prefix",
    { encoding: "base64", prefix: "sha256=", signature: `sha256=${base64(PAYLOAD)}` },
    "accepted",
  ],
  ["base64 over another body", { encoding: "base64", signature: base64("x") }, X_MISMATCH],
  [
    "base64 without its padding",
    { encoding: "base64", signature: base64(PAYLOAD).slice(0, -1) },
    X_MALFORMED,
  ],
  [
    "base64 with stray bits in its last letter",
    { encoding: "base64", signature: `${"A".repeat(42)}B=` },
    X_MALFORMED,
  ],
  ["hexadecimal where base64 is expected", { encoding: "base64", signature: HEX }, X_MALFORMED],
  ["base64 where hexadecimal is expected", { signature: base64(PAYLOAD) }, X_MALFORMED],
  [
    "an encoding that it does not know",
    { encoding: "base64url" },
    'CONFIGURATION: encoding must be one of hex, base64, got "base64url"',
  ],
  ["several parts", { payload: ["Hello", bytes(", "), "World!"] }, "accepted"],
  ["several parts, one of them empty", { payload: ["", PAYLOAD, null] }, "accepted"],
  ["no part", { payload: [], signature: hmac(SECRET, "") }, "accepted"],
  ["parts in another order", { payload: ["World!", "Hello, "] }, X_MISMATCH],
  ["a time", signedAt(NOW_SECONDS), "accepted"],
  ["a time at the edge", signedAt(NOW_SECONDS - 300), "accepted"],
  [
    "a time beyond the tolerance",
    { ...signedAt(NOW_SECONDS - 301), timestampHeaderName: "X-Time" },
    "UNAUTHORIZED: The timestamp in the X-Time header is older than 300 seconds",
  ],
  [
    "a time ahead of the clock",
    { ...signedAt(NOW_SECONDS + 61), toleranceSeconds: 60 },
    "UNAUTHORIZED: The timestamp in the X-Timestamp header is further ahead than 60 seconds",
  ],
  ["another time than the signed one", {
    ...signedAt(NOW_SECONDS),
    payload: [`${NOW_SECONDS + 1}.`, PAYLOAD],
    timestamp: `${NOW_SECONDS + 1}`,
  }, X_MISMATCH],
  [
    "a header with the time that is missing",
    { ...signedAt(NOW_SECONDS), timestamp: undefined },
    "UNAUTHORIZED: The X-Timestamp header is missing",
  ],
  [
    "a time that is no number",
    signedAt("now"),
    "UNAUTHORIZED: The X-Timestamp header is malformed",
  ],
  [
    "a time that is not signed",
    { payload: [PAYLOAD], timestamp: `${NOW_SECONDS}` },
    "CONFIGURATION: The timestamp of a webhook must be among what is signed: give it in the payload, such as payload: [timestamp, '.', body]",
  ],
  [
    "a time beside a body that may hold anything",
    {
      payload: `${NOW_SECONDS}`,
      signature: hmac(SECRET, `${NOW_SECONDS}`),
      timestamp: `${NOW_SECONDS}`,
    },
    "CONFIGURATION: The timestamp of a webhook must be among what is signed: give it in the payload, such as payload: [timestamp, '.', body]",
  ],
  [
    "a tolerance below 0",
    { toleranceSeconds: -1 },
    "CONFIGURATION: toleranceSeconds must be a number of seconds from 0, got -1",
  ],
];

for (const [name, options, expected] of OPTIONS) {
  Deno.test(`validateWebhookSignature() ${expected === "accepted" ? "accepts" : "refuses"} ${name}`, async () => {
    const check = () =>
      validateWebhookSignature({ payload: PAYLOAD, signature: HEX, secret: SECRET, ...options });
    assertEquals(await atTime(NOW_SECONDS * 1000, () => outcome(check)), expected);
  });
}

const BODY = '{"id":"evt_1","object":"event"}';
const ENDPOINT = "whsec_test_secret";

function payments(seconds: number | string, { body = BODY, secret = ENDPOINT } = {}): string {
  return `t=${seconds},v1=${hmac(secret, `${seconds}.${body}`)}`;
}

const good = payments(NOW_SECONDS);
const v1 = good.split("v1=")[1];
const zeros = "0".repeat(64);
const P_MISMATCH = "UNAUTHORIZED: The signature in the Payments-Signature header does not match";
const P_MALFORMED = "UNAUTHORIZED: The Payments-Signature header is malformed";
const P_OLD =
  "UNAUTHORIZED: The timestamp in the Payments-Signature header is older than 300 seconds";
const P_FUTURE =
  "UNAUTHORIZED: The timestamp in the Payments-Signature header is further ahead than 300 seconds";

const PAYMENTS: [
  name: string,
  header: unknown,
  expected: string,
  more?: { body?: unknown; secret?: unknown; tolerance?: number },
][] = [
  ["a fresh signature", good, "accepted"],
  ["a body of bytes", good, "accepted", { body: bytes(BODY) }],
  ["upper-case hex", `t=${NOW_SECONDS},v1=${v1.toUpperCase()}`, "accepted"],
  ["a second v1 that matches", `t=${NOW_SECONDS},v1=${zeros},v1=${v1}`, "accepted"],
  ["a malformed v1 beside one that matches", `t=${NOW_SECONDS},v1=xyz,v1=${v1}`, "accepted"],
  ["keys that it does not know", `t=${NOW_SECONDS},v0=${zeros},v1=${v1},v2=a=b,x`, "accepted"],
  ["the timestamp behind the signature", `v1=${v1},t=${NOW_SECONDS}`, "accepted"],
  ["one of two secrets", good, "accepted", { secret: ["whsec_next", ENDPOINT] }],
  ["a timestamp at the edge of the tolerance", payments(NOW_SECONDS - 300), "accepted"],
  ["a timestamp ahead, at the edge of the tolerance", payments(NOW_SECONDS + 300), "accepted"],
  ["a multi-byte body", payments(NOW_SECONDS, { body: "日本語" }), "accepted", { body: "日本語" }],
  ["an old timestamp within a wider tolerance", payments(NOW_SECONDS - 900), "accepted", {
    tolerance: 900,
  }],
  ["a timestamp beyond the tolerance", payments(NOW_SECONDS - 301), P_OLD],
  ["a timestamp further ahead than the tolerance", payments(NOW_SECONDS + 301), P_FUTURE],
  ["a tolerance of 0 a second later", payments(NOW_SECONDS - 1), P_OLD.replace("300", "0"), {
    tolerance: 0,
  }],
  ["a tampered body", good, P_MISMATCH, { body: BODY.replace("1", "2") }],
  ["a tampered timestamp", good.replace(`${NOW_SECONDS}`, `${NOW_SECONDS + 1}`), P_MISMATCH],
  ["a timestamp with a zero before it", good.replace("t=", "t=0"), P_MISMATCH],
  ["a tampered signature", `t=${NOW_SECONDS},v1=${zeros}`, P_MISMATCH],
  ["a signature of another scheme alone", `t=${NOW_SECONDS},v0=${v1}`, P_MALFORMED],
  ["another secret", good, P_MISMATCH, { secret: "whsec_other" }],
  ["no timestamp", `v1=${v1}`, P_MALFORMED],
  ["two timestamps", `t=${NOW_SECONDS},t=${NOW_SECONDS},v1=${v1}`, P_MALFORMED],
  ["a timestamp that is no number", `t=now,v1=${hmac(ENDPOINT, `now.${BODY}`)}`, P_MALFORMED],
  ["a negative timestamp", `t=-1,v1=${hmac(ENDPOINT, `-1.${BODY}`)}`, P_MALFORMED],
  ["an empty timestamp", `t=,v1=${hmac(ENDPOINT, `.${BODY}`)}`, P_MALFORMED],
  ["no signature", `t=${NOW_SECONDS}`, P_MALFORMED],
  ["a v1 without a value beside one that matches", `v1,${good}`, P_MALFORMED],
  ["another header's format", HEADER, P_MALFORMED],
  ["a missing header", undefined, "UNAUTHORIZED: The Payments-Signature header is missing"],
  ["an empty secret", good, NO_SECRET.replace("X-Hub-Signature-256", "Payments-Signature"), {
    secret: "",
  }],
  [
    "a tolerance below 0",
    good,
    "CONFIGURATION: toleranceSeconds must be a number of seconds from 0, got -1",
    {
      tolerance: -1,
    },
  ],
  [
    "a tolerance that is no number",
    good,
    "CONFIGURATION: toleranceSeconds must be a number of seconds from 0, got NaN",
    { tolerance: NaN },
  ],
];

for (
  const [name, header, expected, { body = BODY, secret = ENDPOINT, tolerance } = {}] of PAYMENTS
) {
  const verdict = expected === "accepted" ? "accepts" : "refuses";
  for (
    const [validate, headerName] of [
      [validatePaymentsWebhook, "Payments-Signature"],
      [validateStripeWebhook, "Stripe-Signature"],
    ] as const
  ) {
    Deno.test(`${validate.name}() ${verdict} ${name}`, async () => {
      const check = () =>
        validate(body as WebhookPayload, header as string, secret as WebhookSecret, tolerance);
      const outcomeNow = await atTime(NOW_SECONDS * 1000 + 999, () => outcome(check));
      assertEquals(outcomeNow, expected.replace("Payments-Signature", headerName));
    });
  }
}
