import { assertEquals, assertFalse, assertThrows } from "@std/assert";
import fc from "fast-check";
import { type ApiEvent, getClientAddress } from "../../../core/mod.ts";
import { checkClientAddressSource } from "../../../core/http/client_address.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createAlbEvent, createHttpApiEvent, createRestApiEvent } from "../../../testing/mod.ts";
import { redactValue } from "../../../observability/mod.ts";
import { withEnv } from "../../support/with_env.ts";
import { testSeed } from "../../support/seed.ts";

const SECRET = "0123456789abcdef";
const OTHER = "another-secret-of-a-rotation";
const GATEWAY = "203.0.113.1";
const VIEWER = "198.51.100.10";
const RUNS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 100_000 : 2_000;

type Headers = Record<string, string>;

/** The same request behind each gateway, which all see {@link GATEWAY}. */
const SOURCES: Record<string, (headers: Headers) => ApiEvent> = {
  "a REST API": (headers) => {
    const event = createRestApiEvent({ headers });
    return {
      ...event,
      requestContext: { ...event.requestContext, identity: { sourceIp: GATEWAY } },
    };
  },
  "an HTTP API": (headers) => {
    const event = createHttpApiEvent({ headers });
    const http = { ...event.requestContext.http, sourceIp: GATEWAY };
    return { ...event, requestContext: { ...event.requestContext, http } };
  },
  "a load balancer": (headers) => {
    // it adds its own entry to what the client sent
    const claimed = Object.entries(headers).find(([name]) =>
      name.toLowerCase() === "x-forwarded-for"
    )?.[1];
    const others = Object.entries(headers).filter(([name]) =>
      name.toLowerCase() !== "x-forwarded-for"
    );
    const forwarded = claimed === undefined ? GATEWAY : `${claimed}, ${GATEWAY}`;
    return createAlbEvent({
      headers: { ...Object.fromEntries(others), "x-forwarded-for": forwarded },
    });
  },
};

const fromCdn = (secret: string, address = `${VIEWER}:46532`): Headers => ({
  "x-origin-verify": secret,
  "cloudfront-viewer-address": address,
});

const CASES: [name: string, variable: string | undefined, headers: Headers, expected: string][] = [
  ["nothing but the gateway's word", SECRET, {}, GATEWAY],
  ["a viewer of the CDN", SECRET, fromCdn(SECRET), VIEWER],
  [
    "header names in another case",
    SECRET,
    { "X-Origin-Verify": SECRET, "CloudFront-Viewer-Address": `${VIEWER}:1` },
    VIEWER,
  ],
  ["the first of two secrets", `${SECRET}, ${OTHER}`, fromCdn(SECRET), VIEWER],
  ["the second of two secrets", `${SECRET}, ${OTHER}`, fromCdn(OTHER), VIEWER],
  ["an address of IPv6", SECRET, fromCdn(SECRET, "2001:db8::1:46532"), "2001:db8::1"],
  [
    "a long address of IPv6",
    SECRET,
    fromCdn(SECRET, "2001:0db8:85a3:0000:0000:8a2e:0370:7334:443"),
    "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
  ],
  ["an address of IPv6 in brackets", SECRET, fromCdn(SECRET, "[2001:db8::1]:46532"), "2001:db8::1"],
  ["no secret in the environment", undefined, fromCdn(SECRET), GATEWAY],
  ["an empty secret in the environment", "", fromCdn(""), GATEWAY],
  ["an empty secret in the request", SECRET, fromCdn(""), GATEWAY],
  ["another secret", SECRET, fromCdn(OTHER), GATEWAY],
  ["a part of the secret", SECRET, fromCdn(SECRET.slice(1)), GATEWAY],
  [
    "both secrets of the environment at once",
    `${SECRET},${OTHER}`,
    fromCdn(`${SECRET},${OTHER}`),
    GATEWAY,
  ],
  ["no secret in the request", SECRET, { "cloudfront-viewer-address": `${VIEWER}:1` }, GATEWAY],
  ["the secret without an address", SECRET, { "x-origin-verify": SECRET }, GATEWAY],
  ["an address without a port", SECRET, fromCdn(SECRET, VIEWER), GATEWAY],
  ["no address at all", SECRET, fromCdn(SECRET, "unknown:1"), GATEWAY],
  ["a line break in the address", SECRET, fromCdn(SECRET, `${VIEWER}\n:1`), GATEWAY],
  [
    "what a client claims",
    SECRET,
    { "x-forwarded-for": VIEWER, "x-real-ip": VIEWER, forwarded: `for=${VIEWER}` },
    GATEWAY,
  ],
];

for (const [name, variable, headers, expected] of CASES) {
  Deno.test(`getClientAddress() gives ${expected} for ${name}`, async () => {
    await withEnv({ ORIGIN_VERIFY_SECRET: variable }, () => {
      for (const [source, create] of Object.entries(SOURCES)) {
        assertEquals(getClientAddress(create(headers)), expected, source);
      }
    });
  });
}

Deno.test("getClientAddress() reads a load balancer's entry with a port", () => {
  for (
    const [entry, expected] of [[`${VIEWER}:443`, VIEWER], ["[2001:db8::1]:443", "2001:db8::1"], [
      "2001:db8::1",
      "2001:db8::1",
    ], ["x", undefined]]
  ) {
    assertEquals(
      getClientAddress(createAlbEvent({ headers: { "x-forwarded-for": `1.1.1.1, ${entry}` } })),
      expected,
    );
  }
});

Deno.test("getClientAddress() gives nothing for an event that has no address", () => {
  for (
    const event of [{}, { requestContext: {} }, { requestContext: { identity: null } }, {
      version: "2.0",
    }]
  ) {
    assertEquals(
      getClientAddress({ ...event, headers: { "x-forwarded-for": VIEWER } } as unknown as ApiEvent),
      undefined,
    );
  }
});

Deno.test("getClientAddress() refuses a secret that is too short or has spaces", async () => {
  for (
    const variable of [
      "short",
      "0123456789abcde",
      "0123456789 abcdef",
      `${SECRET},`,
      `${SECRET},short`,
      "ümlaut-0123456789",
    ]
  ) {
    await withEnv({ ORIGIN_VERIFY_SECRET: variable }, () => {
      const error = assertThrows(
        () => getClientAddress(createRestApiEvent({})),
        ConfigurationError,
        "ORIGIN_VERIFY_SECRET",
      );
      assertFalse(error.message.includes(variable));
    });
  }
});

Deno.test("the secret of the CDN is kept out of logs", () => {
  assertFalse(
    JSON.stringify(redactValue({ headers: { "X-Origin-Verify": SECRET } })).includes(SECRET),
  );
});

const PROXIES = ["10.0.0.0/8", "2001:db8:ffff::/48", GATEWAY];
const CHAINS: [name: string, header: string | undefined, expected: string][] = [
  ["the gateway's address without the header", undefined, GATEWAY],
  ["the entry before the gateway", VIEWER, VIEWER],
  ["the first entry from the end that is no proxy", `192.0.2.1, ${VIEWER}, 10.1.2.3`, VIEWER],
  ["an entry with a port", `${VIEWER}:443, 10.1.2.3:80`, VIEWER],
  ["IPv6 entries", "2001:db8::7, [2001:db8:ffff::1]:443", "2001:db8::7"],
  ["the last proxy before an invalid entry", `${VIEWER}, unknown, 10.1.2.3`, "10.1.2.3"],
  ["the first proxy where all are proxies", "10.9.9.9, 10.1.2.3", "10.9.9.9"],
];

for (const [name, forwarded, expected] of CHAINS) {
  Deno.test(`getClientAddress() with trusted proxies gives ${name}`, () => {
    for (const [source, create] of Object.entries(SOURCES)) {
      const headers: Headers = forwarded === undefined ? {} : { "X-Forwarded-For": forwarded };
      assertEquals(
        getClientAddress(create(headers), { header: "X-Forwarded-For", trustedProxies: PROXIES }),
        expected,
        source,
      );
    }
  });
}

Deno.test("getClientAddress() reads no header of a client that is no trusted proxy", () => {
  for (const [source, create] of Object.entries(SOURCES)) {
    assertEquals(
      getClientAddress(create({ "X-Forwarded-For": VIEWER }), {
        header: "X-Forwarded-For",
        trustedProxies: ["10.0.0.0/8"],
      }),
      GATEWAY,
      source,
    );
  }
});

Deno.test("getClientAddress() refuses a source that cannot be trusted or is invalid", async () => {
  const event = createRestApiEvent({});
  await withEnv({ ORIGIN_VERIFY_SECRET: undefined }, () => {
    assertThrows(
      () => getClientAddress(event, "cloudfront-viewer-address"),
      ConfigurationError,
      "ORIGIN_VERIFY_SECRET is not set",
    );
  });
  await withEnv({ ORIGIN_VERIFY_SECRET: SECRET }, () => {
    const viewer = createRestApiEvent({ headers: fromCdn(SECRET) });
    assertEquals(getClientAddress(viewer, "cloudfront-viewer-address"), VIEWER);
  });
  assertThrows(
    () => getClientAddress(event, { header: "X-Forwarded-For", trustedProxies: ["10.0.0.0/99"] }),
    ConfigurationError,
    '"10.0.0.0/99"',
  );
  for (const bad of ["x-forwarded-for", {}, null, { header: "X", trustedProxies: [] }, 1]) {
    assertThrows(() => checkClientAddressSource(bad), ConfigurationError, "clientAddress is");
  }
});

const NAMES = [
  ..."cloudfront-viewer-address x-origin-verify x-forwarded-for x-real-ip forwarded true-client-ip cf-connecting-ip"
    .split(" "),
  ..."client-ip x-client-ip x-cluster-client-ip fastly-client-ip x-forwarded via host x-amzn-trace-id"
    .split(" "),
];
const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("", "unknown", "127.0.0.1", "::1"));
const value = fc.oneof(
  address,
  address.map((ip) => `${ip}:443`),
  fc.array(address, { maxLength: 3 }).map((all) => all.join(", ")),
  fc.constantFrom(
    SECRET.slice(1),
    SECRET.toUpperCase(),
    `${SECRET} `,
    `${SECRET},${SECRET}`,
    OTHER.slice(0, -1),
  ),
  fc.string({ unit: "grapheme-ascii", maxLength: 20 }),
);
const spelling = fc.constantFrom(...NAMES).chain((name) =>
  fc.constantFrom(
    name,
    name.toUpperCase(),
    name.replace(/(^|-)[a-z]/g, (part) => part.toUpperCase()),
  )
);

Deno.test("getClientAddress() takes nothing from headers that a client can send", async () => {
  const seed = testSeed;
  // deno-lint-ignore no-console -- a failure must be repeatable
  console.info(`TRELLIS_SEED=${seed} ${RUNS} requests`);
  for (const variable of [undefined, `${SECRET},${OTHER}`]) {
    await withEnv({ ORIGIN_VERIFY_SECRET: variable }, () => {
      fc.assert(
        fc.property(
          fc.dictionary(spelling, value, { maxKeys: 6 }),
          fc.constantFrom(...Object.keys(SOURCES)),
          (headers, source) => {
            assertEquals(getClientAddress(SOURCES[source](headers)), GATEWAY);
          },
        ),
        { seed, numRuns: RUNS / 2 },
      );
    });
  }
});
