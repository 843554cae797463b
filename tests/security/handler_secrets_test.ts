import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import * as z from "zod";
import { buildValidatedResponse, type ProxyResult } from "../../core/mod.ts";
import { getHeader } from "../../core/http/api_event.ts";
import { setSessionCheck } from "../support/session_check.ts";
import { defineEnv } from "../../env/mod.ts";
import {
  ConfigurationError,
  DatabaseError,
  ServiceUnavailableError,
  UnauthorizedError,
  UnexpectedError,
} from "../../errors/mod.ts";
import { addMetadata, logError, logInfo } from "../../observability/mod.ts";
import {
  createAlbEvent,
  createFakeClock,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { type AuthMode, defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

/** Stands wherever a secret may stand; each place adds its own ending, so that a leak says where it came from. */
const MARKER = "MARKER4711";
const context = createLambdaContext({ clock: createFakeClock() });
const SOURCES = [createRestApiEvent, createHttpApiEvent, createFunctionUrlEvent, createAlbEvent];

const JWT = `eyJhbGciOiJIUzI1NiJ9.${
  btoa(JSON.stringify({ sub: MARKER })).replaceAll("=", "")
}.${MARKER}`;

const REQUEST = {
  method: "POST",
  headers: {
    Authorization: `Bearer ${MARKER}-header`,
    Cookie: `session=${MARKER}-cookie`,
    "X-Api-Key": `${MARKER}-apikey`,
    "X-Amz-Security-Token": `${MARKER}-sts`,
    "X-Hub-Signature-256": `sha256=${MARKER}-hub`,
    "Content-Type": "application/json",
  },
  query: { access_token: `${MARKER}-query`, code: "visible" },
  body: {
    title: "visible",
    password: `${MARKER}-password`,
    nested: [{
      clientSecret: `${MARKER}-nested`,
      card: { cardNumber: `${MARKER}-card`, cvc: `${MARKER}-cvc` },
    }],
  },
  authorizer: { userId: "u1", userStatus: "Authenticated", accessToken: `${MARKER}-authorizer` },
};

/** Errors as drivers, clients and people throw them. */
function failures(): [string, () => unknown][] {
  const postgres = Object.assign(
    new Error(`invalid input syntax for type integer: "${MARKER}-pg"`),
    {
      name: "PostgresError",
      code: "22P02",
      severity: "ERROR",
      detail: `Key (email)=(${MARKER}-detail) already exists.`,
      hint: `${MARKER}-hint`,
      where: `COPY users, line 1: "${MARKER}-where"`,
      query: `insert into users (email) values ('${MARKER}-sql')`,
      parameters: [`${MARKER}-parameter`],
      args: [`${MARKER}-argument`],
      table_name: "users",
    },
  );
  const drizzle = Object.assign(
    new Error(
      `Failed query: insert into users values ($1)\n    at time zone '${MARKER}-sql'\nparams: ${MARKER}-param`,
      {
        cause: postgres,
      },
    ),
    { query: `insert into users values ('${MARKER}-query')`, params: [`${MARKER}-params`] },
  );
  const invalidUrl = ((): unknown => {
    try {
      return new URL(`postgres://user:${MARKER}/url@:bad/`);
    } catch (error) {
      return error;
    }
  })();
  return [
    ["a driver's error", () => postgres],
    ["drizzle's error", () => drizzle],
    ["a DatabaseError", () => DatabaseError.from(drizzle, "createUser")],
    [
      "an error over a driver's",
      () => new ServiceUnavailableError("down", { cause: new Error("outer", { cause: drizzle }) }),
    ],
    ["a part of an AggregateError", () => new AggregateError([drizzle, postgres], "all failed")],
    [
      "details",
      () =>
        new UnexpectedError("x", {
          details: { password: `${MARKER}-details`, url: `db://u:${MARKER}@h/` },
        }),
    ],
    [
      "a URL in a message",
      () => new ConfigurationError(`cannot connect to postgres://user:${MARKER}-url@db/notes`),
    ],
    ["an invalid URL", () => invalidUrl],
    [
      "a token in a message",
      () => new Error(`upstream said no to Authorization: Bearer ${MARKER}-token`),
    ],
    ["a JSON web token in a message", () => new Error(`bad token ${JWT}`)],
    ["an object", () => ({ password: `${MARKER}-object`, message: `${MARKER}-message` })],
    [
      "a message that asks for more",
      () => new UnauthorizedError("The session is not valid", { details: { token: MARKER } }),
    ],
  ];
}

async function assertKeepsSecrets(
  answers: () => Promise<ProxyResult[]>,
  what: string,
): Promise<string> {
  const { result, writes } = await captureLogs(answers);
  const shown = JSON.stringify(result) + writes.join("");
  const at = shown.indexOf(MARKER);
  assertFalse(at >= 0, `${what}: …${shown.slice(Math.max(0, at - 120), at + 60)}…`);
  return shown;
}

const LOUD = {
  level: "TRACE",
  logEvent: true,
  logResult: true,
  fields: { apiKey: `${MARKER}-field` },
} as const;

for (const [name, failure] of failures()) {
  Deno.test(`responses and log lines contain no secret when a handler throws ${name}`, async () => {
    const handler = defineApiHandler({
      schema: z.looseObject({}),
      querySchema: z.looseObject({}),
      logging: LOUD,
    })(
      () => {
        logError("about to fail", { error: failure(), request: REQUEST });
        throw failure();
      },
    );
    await assertKeepsSecrets(
      () => Promise.all(SOURCES.map((make) => handler(make(REQUEST), context))),
      name,
    );
  });
}

Deno.test("responses and log lines of each auth mode contain no secret, for valid and invalid credentials", async () => {
  setSessionCheck((event) =>
    getHeader(event, "Authorization")?.endsWith("good")
      ? Promise.resolve({
        user: { id: "u1", email: "ada@example.com", emailVerified: true },
        session: { id: "s1", token: `${MARKER}-session`, expiresAt: new Date() },
      })
      : Promise.reject(new UnauthorizedError("The session is not valid"))
  );
  const modes: AuthMode[] = ["none", "bearer", "authorizer", "authorizer-optional", "session"];
  for (const expected of [undefined, `${MARKER}-header`, `${MARKER}-other`]) {
    await withEnv({ API_BEARER_TOKEN: expected }, async () => {
      for (const auth of modes) {
        const handler = defineApiHandler({ auth, logging: LOUD })((params) => {
          const { context: _, ...rest } = params;
          logInfo("called", { params: rest, ...rest });
          addMetadata("request", rest);
          return buildValidatedResponse(context, 200, { ok: true });
        });
        await assertKeepsSecrets(
          () => Promise.all(SOURCES.map((make) => handler(make(REQUEST), context))),
          auth,
        );
      }
    });
  }
  setSessionCheck(undefined);
});

Deno.test("the response to an invalid body contains no secret and no other value of the body", async () => {
  const schema = z.object({
    title: z.number(),
    password: z.string().max(3),
    email: z.email(),
    kind: z.enum(["a", "b"]),
    nested: z.array(z.strictObject({})),
  });
  const handler = defineApiHandler({ schema, logging: LOUD })(() => ({
    statusCode: 200,
    body: "",
  }));
  // at DEBUG the event itself is logged, redacted; what is no secret by name may stand there
  const quiet = defineApiHandler({ schema })(() => ({ statusCode: 200, body: "" }));
  const body = { ...REQUEST.body, email: `${MARKER}-email`, kind: `${MARKER}-kind` };
  await assertKeepsSecrets(
    () => Promise.all(SOURCES.map((make) => handler(make(REQUEST), context))),
    "loud",
  );
  const shown = await assertKeepsSecrets(
    () => Promise.all(SOURCES.map((make) => quiet(make({ ...REQUEST, body }), context))),
    "quiet",
  );
  assertStringIncludes(shown, "email");
});

Deno.test("log lines about events with invalid JSON contain no secret", async () => {
  const handler = defineApiHandler({ logging: LOUD })(() => ({ statusCode: 200, body: "" }));
  const bodies: unknown[] = [
    `password=${MARKER}&title=visible`,
    `not json but with ${MARKER}`,
    `<password>${MARKER}</password>`,
    `{"password":"${MARKER}"`,
    new TextEncoder().encode(`{"password":"${MARKER}"}`),
  ];
  for (const body of bodies) {
    await assertKeepsSecrets(
      () => Promise.all(SOURCES.map((make) => handler(make({ ...REQUEST, body }), context))),
      String(body),
    );
  }
});

Deno.test("logged results contain no secret", async () => {
  const handler = defineApiHandler({ logging: LOUD, metrics: false })(() =>
    buildValidatedResponse(context, 200, { token: `${MARKER}-token`, id: "visible" }, undefined, {
      cookies: [`session=${MARKER}-cookie`],
      headers: { "Set-Cookie": `a=${MARKER}-header` },
    })
  );
  for (const make of SOURCES) {
    const { writes } = await captureLogs(() => handler(make(REQUEST), context));
    assertFalse(writes.join("").includes(MARKER), make.name);
    assert(writes.join("").includes("visible"));
  }
});

Deno.test("responses and log lines contain no secret of the environment", async () => {
  await withEnv(
    { TRELLIS_TEST_KEY: `${MARKER}-env`, TRELLIS_TEST_PORT: `${MARKER}-port` },
    async () => {
      const good = defineEnv({ TRELLIS_TEST_KEY: { secret: true } });
      const bad = defineEnv({
        TRELLIS_TEST_PORT: { secret: true, schema: z.coerce.number(`${MARKER} is no number`) },
      });
      const handler = defineApiHandler({ logging: LOUD })(() => {
        logInfo("configured", { env: good, list: [good] });
        return buildValidatedResponse(context, 200, { env: good, port: bad.TRELLIS_TEST_PORT });
      });
      const shown = await assertKeepsSecrets(
        () => Promise.all(SOURCES.map((make) => handler(make(REQUEST), context))),
        "env",
      );
      assertStringIncludes(shown, "TRELLIS_TEST_PORT is not valid");
    },
  );
});

Deno.test("a 500 response contains no stack, file name or class", async () => {
  for (const [name, failure] of failures()) {
    if (name === "a message that asks for more") continue;
    const handler = defineApiHandler({ metrics: false })(() => {
      throw failure();
    });
    const { result } = await captureLogs(() => handler(createRestApiEvent(), context));
    const { correlationId: _c, requestId: _r, ...body } = JSON.parse(result.body);
    assertEquals(Object.keys(body), ["message", "code"]);
    assert(["Internal Server Error", "Service Unavailable"].includes(body.message), body.message);
    assertFalse(
      /\.ts|at |Error:/.test(result.body.replace(/Internal Server Error/, "")),
      result.body,
    );
  }
});
