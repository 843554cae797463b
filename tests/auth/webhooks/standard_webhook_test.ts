import { assertEquals, assertFalse } from "@std/assert";
import * as nodeCrypto from "node:crypto";
import { nodeHmac, setHmacEngine, webHmac } from "../../../core/http/hmac.ts";
import {
  validateStandardWebhook,
  type WebhookHeaders,
  type WebhookPayload,
  type WebhookSecret,
} from "../../../auth/mod.ts";
import { isAppError } from "../../../errors/mod.ts";
import { atTime } from "../auth_database.ts";

// the test vector of the specification's reference libraries
const KEY = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SECRET = `whsec_${KEY}`;
const ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const SECONDS = 1614265330;
const BODY = '{"test": 2432232314}';
const SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const ZEROS = `v1,${"A".repeat(43)}=`;

function sign(
  seconds: number | string,
  { id = ID, body = BODY as string | Uint8Array } = {},
): string {
  const mac = nodeCrypto.createHmac(
    "sha256",
    atob(KEY).split("").reduce((all, c, i) => all.fill(c.charCodeAt(0), i), new Uint8Array(24)),
  );
  return `v1,${mac.update(`${id}.${seconds}.`).update(body).digest("base64")}`;
}

/** A secret of some length in base64. */
function getKey(length: number): string {
  return btoa("0123456789abcdefghijklmnopqrst".slice(0, length));
}

function signedWith(keyLength: number) {
  const mac = nodeCrypto.createHmac("sha256", atob(getKey(keyLength))).update(
    `${ID}.${SECONDS}.${BODY}`,
  );
  return headers({ "webhook-signature": `v1,${mac.digest("base64")}` });
}

const headers = (changes: Record<string, string | undefined> = {}) => ({
  "webhook-id": ID,
  "webhook-timestamp": `${SECONDS}`,
  "webhook-signature": SIGNATURE,
  ...changes,
});
const signedAt = (seconds: number | string) =>
  headers({ "webhook-timestamp": `${seconds}`, "webhook-signature": sign(seconds) });

/** The same under Svix' names. */
const svix = (changes: Record<string, string> = {}): Record<string, string> => ({
  "svix-id": ID,
  "svix-timestamp": `${SECONDS}`,
  "svix-signature": SIGNATURE,
  ...changes,
});

const MISMATCH = "UNAUTHORIZED: The signature in the webhook-signature header does not match";
const malformed = (name: string) => `UNAUTHORIZED: The webhook-${name} header is malformed`;
const missing = (name: string) => `UNAUTHORIZED: The webhook-${name} header is missing`;
const NO_BASE64 =
  'CONFIGURATION: The secret for webhook-signature must be base64, with or without "whsec_" before it';
const bytes = (text: string) => new TextEncoder().encode(text);

const CASES: [
  name: string,
  headers: unknown,
  expected: string,
  more?: { body?: unknown; secret?: unknown; tolerance?: number },
][] = [
  ["the reference libraries' vector", headers(), "accepted"],
  ["a body of bytes", headers(), "accepted", { body: bytes(BODY) }],
  ["a secret without its prefix", headers(), "accepted", { secret: KEY }],
  ["one of two secrets", headers(), "accepted", {
    secret: [`whsec_${btoa("another key of 24 bytes!")}`, SECRET],
  }],
  [
    "several signatures of which one matches",
    headers({ "webhook-signature": `${ZEROS} v1a,x ${SIGNATURE}` }),
    "accepted",
  ],
  [
    "names in two cases, of which the lower one counts",
    { "WEBHOOK-ID": "another", ...headers() },
    "accepted",
  ],
  ["a header of the name get", headers({ get: "x" }), "accepted"],
  ["the web's Headers", new Headers(headers()), "accepted"],
  ["header names in another case", {
    "Webhook-Id": ID,
    "WEBHOOK-TIMESTAMP": `${SECONDS}`,
    "Webhook-Signature": SIGNATURE,
  }, "accepted"],
  ["Svix' names", svix(), "accepted"],
  [
    "Svix' names in another case",
    { "Svix-Id": ID, "SVIX-TIMESTAMP": `${SECONDS}`, "svix-Signature": SIGNATURE },
    "accepted",
  ],
  ["Svix' names in the web's Headers", new Headers(svix()), "accepted"],
  [
    "Svix' names before others",
    { ...headers({ "webhook-signature": ZEROS, "webhook-id": "x" }), ...svix() },
    "accepted",
  ],
  [
    "a forged signature under Svix' name beside a good one",
    { ...headers(), "svix-signature": ZEROS },
    "UNAUTHORIZED: The signature in the svix-signature header does not match",
  ],
  [
    "an empty header of Svix",
    { ...headers(), "svix-id": "" },
    "UNAUTHORIZED: The svix-id header is missing",
  ],
  [
    "an old message of Svix",
    svix({ "svix-timestamp": `${SECONDS - 301}`, "svix-signature": sign(SECONDS - 301) }),
    "UNAUTHORIZED: The timestamp in the svix-timestamp header is older than 300 seconds",
  ],
  ["a secret that needs padding and has none", signedWith(26), "accepted", {
    secret: getKey(26).replace(/=+$/, ""),
  }],
  ["a secret that needs less padding", signedWith(25), "accepted", {
    secret: `whsec_${getKey(25).replace(/=+$/, "")}`,
  }],
  [
    "a multi-byte body",
    headers({ "webhook-signature": sign(SECONDS, { body: "é😀" }) }),
    "accepted",
    { body: "é😀" },
  ],
  ["a timestamp at the edge", signedAt(SECONDS - 300), "accepted"],
  ["a timestamp ahead, at the edge", signedAt(SECONDS + 300), "accepted"],
  [
    "a timestamp beyond the tolerance",
    signedAt(SECONDS - 301),
    "UNAUTHORIZED: The timestamp in the webhook-timestamp header is older than 300 seconds",
  ],
  [
    "a timestamp too far ahead",
    signedAt(SECONDS + 301),
    "UNAUTHORIZED: The timestamp in the webhook-timestamp header is further ahead than 300 seconds",
  ],
  ["a tampered body", headers(), MISMATCH, { body: `${BODY} ` }],
  ["a tampered id", headers({ "webhook-id": `${ID}x` }), MISMATCH],
  ["a tampered timestamp", headers({ "webhook-timestamp": `${SECONDS + 1}` }), MISMATCH],
  ["a tampered signature", headers({ "webhook-signature": ZEROS }), MISMATCH],
  ["another secret", headers(), MISMATCH, { secret: `whsec_${btoa("another key of 24 bytes!")}` }],
  [
    "bytes shifted from the body into id and timestamp",
    headers({
      "webhook-id": `a.${SECONDS}`,
      "webhook-signature": sign(SECONDS, { id: "a", body: `${SECONDS}.${BODY}` }),
    }),
    malformed("id"),
  ],
  ["a timestamp that is no number", signedAt("now"), malformed("timestamp")],
  ["a timestamp with a fraction", signedAt("1.5"), malformed("timestamp")],
  [
    "a signature of another version alone",
    headers({ "webhook-signature": SIGNATURE.replace("v1", "v1a") }),
    malformed("signature"),
  ],
  [
    "a good signature under another version",
    headers({ "webhook-signature": SIGNATURE.replace("v1,", "v2,") }),
    malformed("signature"),
  ],
  [
    "a signature without a version",
    headers({ "webhook-signature": SIGNATURE.slice(3) }),
    malformed("signature"),
  ],
  [
    "a signature of another length",
    headers({ "webhook-signature": "v1,AAAA" }),
    malformed("signature"),
  ],
  ["no id", headers({ "webhook-id": undefined }), missing("id")],
  ["no timestamp", headers({ "webhook-timestamp": undefined }), missing("timestamp")],
  ["no signature", headers({ "webhook-signature": undefined }), missing("signature")],
  ["no headers", {}, missing("id")],
  [
    "an empty secret",
    headers(),
    "CONFIGURATION: The secret for webhook-signature is missing or empty: set it, each one if it is a list",
    { secret: "" },
  ],
  ["a secret that is the prefix alone", headers(), NO_BASE64, { secret: "whsec_" }],
  ["a secret that is no base64", headers(), NO_BASE64, { secret: "whsec_not base64" }],
  ["a secret whose last letter is cut off", headers(), NO_BASE64, { secret: KEY.slice(0, -1) }],
  ["a secret with too much padding", headers(), NO_BASE64, { secret: `${KEY}A===` }],
  [
    "a tolerance that is a text",
    headers(),
    "CONFIGURATION: toleranceSeconds must be a number of seconds from 0, got 300",
    { tolerance: "300" as unknown as number },
  ],
  [
    "a tolerance below 0",
    headers(),
    "CONFIGURATION: toleranceSeconds must be a number of seconds from 0, got -5",
    {
      tolerance: -5,
    },
  ],
];

for (const [name, given, expected, { body = BODY, secret = SECRET, tolerance } = {}] of CASES) {
  const verdict = expected === "accepted" ? "accepts" : "refuses";
  Deno.test(`validateStandardWebhook() ${verdict} ${name}`, async () => {
    for (const engine of [webHmac, nodeHmac(nodeCrypto)]) {
      setHmacEngine(engine);
      const result = await atTime(
        SECONDS * 1000,
        () =>
          validateStandardWebhook(
            body as WebhookPayload,
            given as WebhookHeaders,
            secret as WebhookSecret,
            tolerance,
          ),
      ).then(
        () => "accepted",
        (error) => isAppError(error) ? `${error.code}: ${error.message}` : Promise.reject(error),
      );
      setHmacEngine(undefined);
      assertEquals(result, expected);
      assertFalse(result.includes(KEY));
    }
  });
}
