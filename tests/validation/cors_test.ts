import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { configureSessionAuth, createAuthHandler, resetSessionAuth } from "../../auth/mod.ts";
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
      const handler = defineApiHandler({ ...cors !== undefined && { cors }, metrics: false })(
        () => {
          if (failing) throw new Error("x");
          return { statusCode: 200, body: "" };
        },
      );
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

Deno.test("CORS headers are on answers to events that no gateway sends", async () => {
  const handler = defineApiHandler({ cors: [A, B], metrics: false })(() => {
    throw new Error("x");
  });
  const { result } = await captureLogs(() => handler({ body: 7 } as never, createLambdaContext()));
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

/** Calls a session handler in a function whose configuration has trusted origins. */
async function askWithTrust(
  event: Parameters<typeof createHttpApiEvent>[0],
  cors?: CorsOption,
): Promise<Record<string, string | number>> {
  configureSessionAuth(() => Promise.reject(new Error("not needed")), {
    secret: "at-least-32-random-characters-0123456789",
    baseURL: "https://api.example",
    trustedOrigins: [A, "https://*.tenant.example"],
  });
  try {
    const handler = defineApiHandler({
      auth: "session",
      ...cors !== undefined && { cors },
      metrics: false,
    })(() => {
      throw new Error("not reached");
    });
    const { result } = await captureLogs(() =>
      handler(createHttpApiEvent(event), createLambdaContext())
    );
    const headers = result.headers as Record<string, string>;
    return {
      status: result.statusCode,
      origin: headers["Access-Control-Allow-Origin"] ?? "none",
      credentials: headers["Access-Control-Allow-Credentials"] ?? "none",
      vary: headers.Vary ?? "none",
    };
  } finally {
    resetSessionAuth();
  }
}

const TRUSTED_CASES: [CorsOption | undefined, origin: string, sent: string, credentials: string][] =
  [
    [undefined, A, A, "true"],
    [undefined, "https://a.tenant.example", "https://a.tenant.example", "true"],
    [undefined, "https://api.example", "https://api.example", "true"],
    [undefined, B, "none", "none"],
    ["*", A, A, "true"],
    ["*", B, "*", "none"],
    [[B], A, A, "true"],
    [[A, B], B, B, "none"],
    [{ origins: [B], credentials: true }, B, B, "true"],
    [{ origins: [B], credentials: true }, A, A, "true"],
    [{ origins: [B], credentials: true }, "https://c.example", "none", "none"],
  ];

for (const [option, origin, sent, credentials] of TRUSTED_CASES) {
  Deno.test(`defineApiHandler() allows credentials only to trusted origins when cors is ${JSON.stringify(option)} and Origin is ${origin}`, async () => {
    const headers = { Origin: origin };
    assertEquals(await askWithTrust({ headers }, option), {
      status: 401,
      origin: sent,
      credentials,
      vary: "Origin",
    });
    const preflight = {
      method: "OPTIONS",
      headers: { ...headers, "Access-Control-Request-Method": "POST" },
    };
    const answer = await askWithTrust(preflight, option);
    assertEquals(answer.status, 204);
    assertEquals([answer.origin, answer.credentials], [sent, credentials]);
  });
}

Deno.test("defineApiHandler() allows credentials to the origins of cors without trusted origins", async () => {
  const cors: CorsOption = { origins: [A, B], credentials: true };
  const handler = defineApiHandler({ cors, metrics: false })(() => ({ statusCode: 200, body: "" }));
  const read = async (method: string, headers: Record<string, string>) => {
    const event = createRestApiEvent({ method, headers });
    const { result } = await captureLogs(() => handler(event, createLambdaContext()));
    return [
      result.statusCode,
      result.headers?.["Access-Control-Allow-Origin"],
      result.headers?.["Access-Control-Allow-Credentials"],
    ];
  };
  const asked = { "Access-Control-Request-Method": "GET" };
  assertEquals(await read("GET", { Origin: B }), [200, B, "true"]);
  assertEquals(await read("OPTIONS", { Origin: B, ...asked }), [204, B, "true"]);
  assertEquals(await read("GET", { Origin: `${B}.evil` }), [200, undefined, undefined]);
  assertEquals(await read("OPTIONS", { Origin: `${B}.evil`, ...asked }), [
    204,
    undefined,
    undefined,
  ]);
  assertEquals(await read("GET", {}), [200, undefined, undefined]);
});

Deno.test("defineApiHandler() refuses credentials for all origins, and for none", () => {
  const refused: unknown[] = [
    { origins: ["*"], credentials: true },
    { origins: "*", credentials: true },
    { origins: [], credentials: true },
    { origins: [A] },
    { origins: [A], credentials: false },
    { origins: [A], credentials: true, maxAge: 5 },
  ];
  for (const cors of refused) {
    assertThrows(
      () => defineApiHandler({ cors: cors as CorsOption }),
      ConfigurationError,
      "cors is",
    );
  }
});

Deno.test("defineApiHandler() sends no CORS headers with cors false, also to trusted origins", async () => {
  assertEquals(await askWithTrust({ headers: { Origin: A } }, false), {
    status: 401,
    origin: "none",
    credentials: "none",
    vary: "none",
  });
});

Deno.test("defineApiHandler() leaves an OPTIONS request to the handler when it is no preflight", async () => {
  const handler = defineApiHandler({ cors: A })(() => ({ statusCode: 200, body: "own" }));
  const ask = (headers: Record<string, string>) =>
    handler(createRestApiEvent({ method: "OPTIONS", headers }), createLambdaContext());
  assertEquals((await ask({ Origin: A })).body, "own");
  const preflight = await ask({ Origin: A, "Access-Control-Request-Method": "PATCH" });
  assertEquals(preflight.statusCode, 204);
  assertEquals(preflight.headers?.["Access-Control-Allow-Methods"], "PATCH");
  const odd = await ask({ Origin: A, "Access-Control-Request-Method": "PATCH\r\nX: y" });
  assertEquals(odd.body, "own");
});
