import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createAuthHandler } from "../../auth/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { createHttpApiEvent, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { type CorsOption, defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

type Sent = { origin: string | undefined; vary: string | undefined };

/** Asks a handler with an answer and one that fails: both must have the same CORS headers. */
async function ask(cors: CorsOption | undefined, origin: string | undefined): Promise<Sent> {
  const all: Sent[] = [];
  const headers: Record<string, string> = origin === undefined ? {} : { Origin: origin };
  for (const make of [createRestApiEvent, createHttpApiEvent]) {
    for (const failing of [false, true]) {
      const handler = defineApiHandler({ cors, metrics: false })(() => {
        if (failing) throw new Error("x");
        return { statusCode: 200, body: "" };
      });
      const { result } = await captureLogs(() => handler(make({ headers }), createLambdaContext()));
      const sent = result.headers as Record<string, string>;
      all.push({ origin: sent["Access-Control-Allow-Origin"], vary: sent.Vary });
    }
  }
  for (const other of all) assertEquals(other, all[0]);
  return all[0];
}

const A = "https://a.example", B = "https://b.example";

/** Option, environment, the request's origin; what is answered. */
const CASES: [CorsOption | undefined, env: string | undefined, origin: string | undefined, Sent][] =
  [
    [undefined, undefined, A, { origin: undefined, vary: undefined }],
    [undefined, "", A, { origin: undefined, vary: undefined }],
    [undefined, "*", A, { origin: "*", vary: undefined }],
    [undefined, A, B, { origin: A, vary: "Origin" }],
    [undefined, ` ${A} , ${B},`, B, { origin: B, vary: "Origin" }],
    [undefined, `${A},${B}`, "https://c.example", { origin: undefined, vary: "Origin" }],
    [undefined, `${A},${B}`, undefined, { origin: undefined, vary: "Origin" }],
    ["*", A, B, { origin: "*", vary: undefined }],
    [B, A, undefined, { origin: B, vary: "Origin" }],
    [[A, B], "*", B, { origin: B, vary: "Origin" }],
    [[A, B], "*", `${A}.evil`, { origin: undefined, vary: "Origin" }],
    [[A, B], "*", "null", { origin: undefined, vary: "Origin" }],
    [[A], "*", B, { origin: A, vary: "Origin" }],
    [false, "*", A, { origin: undefined, vary: undefined }],
  ];

for (const [option, env, origin, sent] of CASES) {
  const name = `${JSON.stringify(option)}, CORS_ALLOW_ORIGIN ${env}, Origin ${origin}`;
  Deno.test(`CORS headers for option ${name}, on errors too`, async () => {
    await withEnv(
      { CORS_ALLOW_ORIGIN: env },
      async () => assertEquals(await ask(option, origin), sent),
    );
  });
}

Deno.test("CORS headers are on answers to events that are none", async () => {
  const handler = defineApiHandler({ cors: [A, B], metrics: false })(() => {
    throw new Error("x");
  });
  const { result } = await captureLogs(() => handler(null as never, createLambdaContext()));
  assertEquals([result.statusCode, result.headers?.Vary], [500, "Origin"]);
});

const BAD = [
  "a.example",
  "https://a.example/",
  "https://a.example/app",
  "https://*.a.example",
  `${A} ${B}`,
  `${A},*`,
  `${A};${B}`,
  "null",
  "true",
  "https://a.example?x",
];

for (const value of BAD) {
  Deno.test(`CORS_ALLOW_ORIGIN ${value} is refused like the option`, async () => {
    await withEnv({ CORS_ALLOW_ORIGIN: value }, () => {
      assertThrows(
        () => defineApiHandler({ metrics: false }),
        ConfigurationError,
        "CORS_ALLOW_ORIGIN",
      );
      assertThrows(
        () => createAuthHandler(() => Promise.reject(new Error("x"))),
        ConfigurationError,
        "CORS_ALLOW_ORIGIN",
      );
      defineApiHandler({ cors: A });
      defineApiHandler({ cors: false });
    });
    assertThrows(() => defineApiHandler({ cors: value }), ConfigurationError, "cors is");
  });

  Deno.test(`CORS_ALLOW_ORIGIN that is set to ${value} later answers 500 without CORS headers`, async () => {
    const handler = await withEnv(
      { CORS_ALLOW_ORIGIN: undefined },
      () => defineApiHandler({ metrics: false })(() => ({ statusCode: 200, body: "" })),
    );
    await withEnv({ CORS_ALLOW_ORIGIN: value }, async () => {
      const event = createRestApiEvent({ headers: { Origin: A } });
      const { result, lines } = await captureLogs(() => handler(event, createLambdaContext()));
      assertEquals([result.statusCode, JSON.parse(result.body).code], [500, "CONFIGURATION"]);
      assertEquals(
        Object.keys(result.headers ?? {}).filter((name) => /^access-control/i.test(name)),
        [],
      );
      assertStringIncludes(lines[0].error.message, "CORS_ALLOW_ORIGIN");
    });
  });
}
