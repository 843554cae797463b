// deno-lint-ignore-file no-console -- the number of cases is part of the result
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { checkTrustedOrigins } from "../../../auth/config/check_trusted_origins.ts";
import { resolveAuthConfig } from "../../../auth/config/resolve_config.ts";
import { isTrustedOrigin } from "../../../auth/sessions/trusted_origin.ts";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { testSeed } from "../../support/seed.ts";
import { createRandom } from "../../support/random.ts";

const config: AuthConfig = {
  secret: "a-secret-of-at-least-32-characters",
  baseURL: "https://api.example.com",
};

const ACCEPTED = [
  ..."https://app.example.com http://localhost:3000 https://*.example.com https://*.example.com:8443"
    .split(" "),
  ..."https://app-*.example.com http://localhost:* https://*.example.co.uk http://*.localhost:3000"
    .split(" "),
  ..."https://[::1]:3000 notes:// exp://192.168.*.*:*/** com.example.app://callback".split(" "),
  ..."chrome-extension://abcdefghijklmnop https://x.example.com:* https://a.vercel.app".split(" "),
];
const REFUSED = [
  ..."* ** ? *.com *.example.com app.example.com localhost:3000 null //app.example.com".split(" "),
  ..."https://* https://** http://* http*://app.example.com https?://app.example.com *://app.example.com"
    .split(" "),
  ..."https://*.com https://*com https://*example.com https://app.* https://app.example.* https://*.*"
    .split(" "),
  ..."https://*.co.uk https://*.com.br https://*.vercel.app https://app-*.vercel.app https://*.github.io"
    .split(" "),
  ..."https://app.example.com* https://app.example.com? https://app.example.com:3* https://*:3000"
    .split(" "),
  ..."https://app.example.com/ https://app.example.com/path https://*.example.com/* HTTPS://app.example.com"
    .split(" "),
  ..."https://App.example.com https://app.example.com:443 https://user@app.example.com https://*.Example.com"
    .split(" "),
  ..."http://192.168.*.* http://10.* https://*.eu-west-1.amazonaws.com https://*.execute-api.eu-west-1.amazonaws.com"
    .split(" "),
  ..."javascript://* data://x file:// chrome-extension://* moz-extension:// https:// https://*. https://*..com"
    .split(" "),
  ..."https://a.example,https://b.example https://.example.com* https://*@app.example.com".split(
    " ",
  ),
  "",
  " ",
  "https://app.example.com ",
  " https://app.example.com",
  "https://*.example.com\nhttps://evil.example",
];

Deno.test("createAuth() accepts origins, and patterns below a domain of one's own", () => {
  resolveAuthConfig({ ...config, trustedOrigins: ACCEPTED });
});

for (const entry of REFUSED) {
  Deno.test(`createAuth() refuses the trusted origin ${JSON.stringify(entry)}`, () => {
    const { message } = assertThrows(
      () => resolveAuthConfig({ ...config, trustedOrigins: [entry] }),
      ConfigurationError,
    );
    assertStringIncludes(message, `AuthConfig.trustedOrigins has ${JSON.stringify(entry)}: `);
    // what it says to write passes
    const suggestions = [...message.slice(message.lastIndexOf(": ")).matchAll(/"(\S+)"/g)].map((
      each,
    ) => each[1]);
    checkTrustedOrigins(suggestions);
  });
}

Deno.test("createAuth() checks what a function of trustedOrigins returns, at each call", async () => {
  let list: unknown = ["https://app.example.com", null, undefined];
  const settings = resolveAuthConfig({ ...config, trustedOrigins: () => list as string[] });
  const { trustedOrigins } = settings;
  assert(typeof trustedOrigins === "function");
  assertEquals(await trustedOrigins(), ["https://app.example.com", null, undefined]);
  list = ["https://*"];
  await assertRejects(async () => await trustedOrigins(), ConfigurationError, '"https://*"');
  list = "https://*";
  await assertRejects(async () => await trustedOrigins(), ConfigurationError, "returned no list");
});

const CASES = 20_000;
/** Origins that no owner of `example.com` and `example.co.uk` controls. */
const STRANGERS = [
  ..."https://evil.test https://evilexample.com https://example.com.evil.test https://a.example.org"
    .split(" "),
  ..."http://evil.test http://evil.test:3000 https://app.example.com.evil.test https://evil.co.uk"
    .split(" "),
  ..."https://evil.com https://192.168.evil.test https://10.evil.com https://app-evil.vercel.app"
    .split(" "),
  ..."https://evil.example https://example.evil.com http://192.168.1.evil.com:3000 https://evil.localhost.test"
    .split(" "),
];
const OWN = [
  ..."https://app.example.com https://a.b.example.com http://app.example.com:3000 https://example.com"
    .split(" "),
  ..."https://x.example.co.uk http://localhost:3000 https://app-1.example.com:8443".split(" "),
];
const PIECES = [
  ..."* ** ? . .. : / // :// https http example com co uk app - 3000 192 168 evil localhost vercel"
    .split(" "),
  ..."https:// http:// *. .example.com .example.co.uk app.example.com .com :3000 :* @ \\ [ ]".split(
    " ",
  ),
];

/** Loads better-auth's own matcher. It is not exported, and its context is. */
async function loadMatcher(): Promise<(origin: string, pattern: string) => boolean> {
  const { betterAuth } = await import("better-auth/minimal");
  const { secret, baseURL } = config;
  const context = await betterAuth({ secret, baseURL, telemetry: { enabled: false } }).$context;
  return (origin, pattern) =>
    context.isTrustedOrigin.call({ trustedOrigins: [pattern] } as never, origin);
}

Deno.test(`an entry that passes trusts no stranger, and means the same to better-auth: ${CASES} entries`, async () => {
  const random = createRandom(testSeed);
  const matches = await loadMatcher();
  const faults: string[] = [];
  let passed = 0;
  let dangerous = 0;
  for (let i = 0; i < CASES; i++) {
    const start = random.below(10) < 7 ? random.pick(["https://", "http://"]) : "";
    const entry = start +
      Array.from({ length: 1 + random.below(5) }, () => random.pick(PIECES)).join("");
    try {
      checkTrustedOrigins([entry]);
    } catch {
      dangerous += Number(STRANGERS.some((origin) => matches(origin, entry)));
      continue;
    }
    passed++;
    for (const origin of [...STRANGERS, ...OWN]) {
      const theirs = matches(origin, entry);
      if (theirs !== isTrustedOrigin(origin, [entry])) {
        faults.push(`${entry} differs for ${origin}`);
      }
      // an entry without a pattern names the origin itself
      if (theirs && STRANGERS.includes(origin) && entry !== origin) {
        faults.push(`${entry} trusts ${origin}`);
      }
    }
  }
  console.log(
    `${CASES} entries, ${passed} accepted, ${dangerous} refused that trust strangers, seed ${testSeed}`,
  );
  assertEquals(faults.slice(0, 10), []);
  assert(passed > 100 && dangerous > 100, `${passed} ${dangerous}`);
});
