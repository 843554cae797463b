// The vendors' own libraries sign, and judge what was tampered with.
import { sign as signOctokit, verify as verifyOctokit } from "@octokit/webhooks-methods";
import "@shopify/shopify-api/adapters/web-api";
import { ApiVersion, LogSeverity, shopifyApi } from "@shopify/shopify-api";
import { isValidSlackRequest } from "@slack/bolt/dist/receivers/verify-request.js";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import {
  getExpectedBodyHash,
  getExpectedTwilioSignature,
  validateRequest,
  validateRequestWithBody,
} from "twilio/lib/webhooks/webhooks.js";
import {
  validateGitHubWebhook,
  validateShopifyWebhook,
  validateSlackWebhook,
  validateStandardWebhook,
  validateStripeWebhook,
  validateTwilioWebhook,
} from "../../../auth/mod.ts";
import { isAppError } from "../../../errors/mod.ts";
import { atTime } from "../auth_database.ts";
import { testSeed } from "../../support/seed.ts";

const RUNS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20_000 : 300;
const NOW_MS = Date.UTC(2030, 4, 6, 7, 8, 9, 123);
const NOW = Math.floor(NOW_MS / 1000);
const KEY = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAbA="; // 26 bytes, so that it is padded
const SECRET = "8f742231b10e8888abcd99yyyzzz85a5";

/** A request as it arrives, signed or tampered with. */
interface SignedRequest {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string;
  readonly secret: string;
}

interface Vendor {
  /** What is sent. */
  readonly body: fc.Arbitrary<string>;
  readonly url?: fc.Arbitrary<string>;
  sign(body: string, seconds: number, url: string): SignedRequest | Promise<SignedRequest>;
  ours(request: SignedRequest): Promise<void>;
  theirs(request: SignedRequest): boolean | Promise<boolean>;
}

const json = fc.json({ stringUnit: "grapheme" });
const pair = fc.tuple(
  fc.stringMatching(/^[A-Za-z]\w{0,5}$/),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const form = fc.array(pair, { maxLength: 5 }).map((pairs) => `${new URLSearchParams(pairs)}`);

function accepts(verify: () => unknown): boolean {
  try {
    verify();
    return true;
  } catch {
    return false;
  }
}

const shopify = shopifyApi({
  apiKey: "key",
  apiSecretKey: SECRET,
  apiVersion: ApiVersion.April26,
  hostName: "app.example.com",
  isEmbeddedApp: true,
  logger: { level: LogSeverity.Error, log: () => {} },
});

function standardVendor(prefix: "webhook" | "svix", secret: string): Vendor {
  const library = () => prefix === "svix" ? SvixWebhook : StandardWebhook;
  const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  return {
    body: json,
    sign: (body, seconds) => ({
      body,
      headers: {
        [`${prefix}-id`]: id,
        [`${prefix}-timestamp`]: `${seconds}`,
        [`${prefix}-signature`]: new (library())(secret).sign(id, new Date(seconds * 1000), body),
      },
      url: "",
      secret,
    }),
    ours: ({ body, headers, secret }) => validateStandardWebhook(body, headers, secret),
    theirs: ({ body, headers, secret }) =>
      accepts(() => new (library())(secret).verify(body, { ...headers })),
  };
}

/** Parameters as a web framework would hand them to Twilio's library. */
function toParams(body: string): Record<string, string | string[]> {
  const search = new URLSearchParams(body);
  const names = new Set(search.keys());
  return Object.fromEntries([...names].map((name) => {
    const values = search.getAll(name);
    return [name, values.length === 1 ? values[0] : values];
  }));
}

const twilioUrl = fc.record({
  host: fc.constantFrom("example.com", "example.com:8443", "user:pw@example.com", "EXAMPLE.com"),
  path: fc.constantFrom("", "/", "/sms", "/a%20b", "/sms's"),
  query: fc.constantFrom("", "?foo=1&bar=2", "?a=b%20c", "?name=O'Neil"),
}).map(({ host, path, query }) => `https://${host}${path}${query}`);

const VENDORS: Readonly<Record<string, Vendor>> = {
  "@octokit/webhooks-methods": {
    body: json,
    sign: async (body) => ({
      body,
      headers: { "x-hub-signature-256": await signOctokit(SECRET, body) },
      url: "",
      secret: SECRET,
    }),
    ours: ({ body, headers, secret }) =>
      validateGitHubWebhook(body, headers["x-hub-signature-256"], secret),
    theirs: ({ body, headers, secret }) =>
      verifyOctokit(secret, body, headers["x-hub-signature-256"]).catch(() => false),
  },
  stripe: {
    body: json,
    sign: async (payload, timestamp) => {
      const header = await Stripe.webhooks.generateTestHeaderStringAsync({
        payload,
        timestamp,
        secret: SECRET,
      });
      return { body: payload, headers: { "stripe-signature": header }, url: "", secret: SECRET };
    },
    ours: ({ body, headers, secret }) =>
      validateStripeWebhook(body, headers["stripe-signature"], secret),
    theirs: ({ body, headers, secret }) =>
      Stripe.webhooks.constructEventAsync(body, headers["stripe-signature"], secret).then(
        () => true,
        () => false,
      ),
  },
  standardwebhooks: standardVendor("webhook", `whsec_${KEY}`),
  "standardwebhooks, a secret without padding": standardVendor(
    "webhook",
    `whsec_${KEY.replace("=", "")}`,
  ),
  svix: standardVendor("svix", `whsec_${KEY}`),
  "svix, a secret without padding": standardVendor("svix", `whsec_${KEY.replace("=", "")}`),
  "@slack/bolt": {
    body: fc.oneof(json, form),
    sign: (body, seconds) => ({
      body,
      headers: {
        "x-slack-request-timestamp": `${seconds}`,
        "x-slack-signature": `v0=${
          createHmac("sha256", SECRET).update(`v0:${seconds}:${body}`).digest("hex")
        }`,
      },
      url: "",
      secret: SECRET,
    }),
    ours: ({ body, headers, secret }) => validateSlackWebhook(body, headers, secret),
    theirs: ({ body, headers, secret }) =>
      isValidSlackRequest({
        signingSecret: secret,
        body,
        headers: headers as unknown as {
          "x-slack-signature": string;
          "x-slack-request-timestamp": number;
        },
      }),
  },
  "@shopify/shopify-api": {
    body: json,
    sign: (body) => ({
      body,
      headers: {
        "x-shopify-hmac-sha256": createHmac("sha256", SECRET).update(body).digest("base64"),
      },
      url: "",
      secret: SECRET,
    }),
    ours: ({ body, headers, secret }) =>
      validateShopifyWebhook(body, headers["x-shopify-hmac-sha256"], secret),
    theirs: async ({ body, headers, secret }) => {
      shopify.config.apiSecretKey = secret;
      const rawRequest = new Request("https://app.example.com/hook", {
        method: "POST",
        headers: {
          ...headers,
          "x-shopify-topic": "orders/create",
          "x-shopify-shop-domain": "shop.myshopify.com",
          "x-shopify-api-version": "2026-04",
          "x-shopify-webhook-id": "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
        },
      });
      return (await shopify.webhooks.validate({ rawBody: body, rawRequest })).valid;
    },
  },
  "twilio, a form": {
    body: form,
    url: twilioUrl,
    sign: (body, _seconds, url) => ({
      body,
      headers: { "x-twilio-signature": getExpectedTwilioSignature(SECRET, url, toParams(body)) },
      url,
      secret: SECRET,
    }),
    ours: ({ body, headers, secret, url }) =>
      validateTwilioWebhook(body, headers["x-twilio-signature"], secret, url),
    theirs: ({ body, headers, secret, url }) =>
      accepts(() =>
        assert(validateRequest(secret, headers["x-twilio-signature"], url, toParams(body)))
      ),
  },
  "twilio, JSON": {
    body: json,
    url: fc.constantFrom("https://example.com/studio", "https://example.com/studio?foo=1"),
    sign: (body, _seconds, base) => {
      const url = `${base}${base.includes("?") ? "&" : "?"}bodySHA256=${getExpectedBodyHash(body)}`;
      return {
        body,
        headers: { "x-twilio-signature": getExpectedTwilioSignature(SECRET, url, {}) },
        url,
        secret: SECRET,
      };
    },
    ours: ({ body, headers, secret, url }) =>
      validateTwilioWebhook(body, headers["x-twilio-signature"], secret, url),
    theirs: ({ body, headers, secret, url }) =>
      accepts(() =>
        assert(validateRequestWithBody(secret, headers["x-twilio-signature"], url, body))
      ),
  },
};

async function accept(
  vendor: Vendor,
  request: SignedRequest,
): Promise<{ ours: boolean; theirs: boolean }> {
  const ours = await atTime(NOW_MS, () => vendor.ours(request)).then(
    () => true,
    (error: unknown) => {
      // what is not signed as it should be is the client's fault, whatever it looks like
      if (!isAppError(error, "UNAUTHORIZED") && !isAppError(error, "CONFIGURATION")) throw error;
      return false;
    },
  );
  return { ours, theirs: await atTime(NOW_MS, async () => await vendor.theirs(request)) };
}

/** A text with something put in, taken out, or replaced. */
const edit = fc.record({
  at: fc.nat(300),
  cut: fc.nat(2),
  put: fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.constantFrom("=", "v1,", "t=1", "&a=b", ".", " ", "0", "A", "%20", ":443"),
  ),
});

function apply(text: string, { at, cut, put }: { at: number; cut: number; put: string }): string {
  const place = at % (text.length + 1);
  return text.slice(0, place) + put + text.slice(place + cut);
}

const tampering = fc.oneof(
  fc.record({ kind: fc.constant("body" as const), edit }),
  fc.record({ kind: fc.constant("url" as const), edit }),
  fc.record({ kind: fc.constant("secret" as const), edit }),
  fc.record({ kind: fc.constant("header" as const), which: fc.nat(3), edit }),
  fc.record({ kind: fc.constant("no header" as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant("time" as const), seconds: fc.integer({ min: -900, max: 900 }) }),
  fc.record({ kind: fc.constant("other message" as const), other: json }),
);
type Tampering = typeof tampering extends fc.Arbitrary<infer T> ? T : never;

async function tamper(
  vendor: Vendor,
  request: SignedRequest,
  change: Tampering,
  url: string,
): Promise<SignedRequest> {
  const names = Object.keys(request.headers);
  if (change.kind === "body") return { ...request, body: apply(request.body, change.edit) };
  if (change.kind === "url") return { ...request, url: apply(request.url, change.edit) };
  if (change.kind === "secret") return { ...request, secret: apply(request.secret, change.edit) };
  if (change.kind === "time") return await vendor.sign(request.body, NOW + change.seconds, url);
  if (change.kind === "other message") {
    return { ...request, headers: (await vendor.sign(change.other, NOW, url)).headers };
  }
  const name = names[change.which % names.length];
  const { [name]: value, ...others } = request.headers;
  if (change.kind === "no header") return { ...request, headers: others };
  // a header has no line breaks, and what no header can carry would fail in the vendor's Request
  return {
    ...request,
    headers: { ...others, [name]: apply(value, change.edit).replace(/[^\x20-\x7e]/g, "x").trim() },
  };
}

for (const [name, vendor] of Object.entries(VENDORS)) {
  Deno.test(`webhooks that ${name} signs are accepted, and no tampered one that it refuses`, async () => {
    const seed = testSeed;
    const count = { signed: 0, tampered: 0, refused: 0, stricter: 0 };
    await fc.assert(
      fc.asyncProperty(
        vendor.body,
        vendor.url ?? fc.constant(""),
        tampering,
        async (body, url, change) => {
          const signed = await vendor.sign(body, NOW, url);
          assertEquals(await accept(vendor, signed), { ours: true, theirs: true });
          count.signed++;
          const tampered = await tamper(vendor, signed, change, url);
          const { ours, theirs } = await accept(vendor, tampered);
          count.tampered++;
          if (!ours) count.refused++;
          if (ours && !theirs) {
            // hexadecimal may be in either case here
            const lowerCase = Object.entries(tampered.headers).map((
              [key, value],
            ) => [key, value.toLowerCase()]);
            const same = await accept(vendor, {
              ...tampered,
              headers: Object.fromEntries(lowerCase),
            });
            assert(same.theirs, `accepted what ${name} refuses: ${JSON.stringify(tampered)}`);
          }
          if (theirs && !ours) {
            // the same message, written in another way, or from the future
            assertEquals(tampered.body, body);
            count.stricter++;
          }
        },
      ),
      { seed, numRuns: RUNS },
    );
    assert(count.refused > count.tampered / 2);
    // deno-lint-ignore no-console -- the figures are part of the result
    console.info(`TRELLIS_SEED=${seed} ${name}: ${JSON.stringify(count)}`);
  });
}
