import { assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import {
  type ApiEvent,
  buildValidatedResponse,
  type ProxyResult,
  type SessionResult,
  UserStatus,
} from "../../core/mod.ts";
import { getHeader } from "../../core/http/api_event.ts";
import { UnauthorizedError } from "../../errors/mod.ts";
import {
  createAlbEvent,
  createFakeClock,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import { type AuthMode, defineApiHandler } from "../../validation/mod.ts";
import { captureLogs, type LogLine } from "../support/capture_logs.ts";
import { setSessionCheck } from "../support/session_check.ts";
import { withEnv } from "../support/with_env.ts";

const TOKEN = "correct-horse-battery-staple";
const context = createLambdaContext({ clock: createFakeClock() });

interface Answer {
  status: number;
  // deno-lint-ignore no-explicit-any
  body: any;
  result: ProxyResult;
  /** What the handler got; `undefined` when it did not run. */
  seen: Record<string, unknown> | undefined;
  lines: LogLine[];
}

async function ask(
  auth: AuthMode,
  options: EventOptions,
  make: typeof createEvents[number] = createRestApiEvent,
): Promise<Answer> {
  let seen: Record<string, unknown> | undefined;
  const handler = defineApiHandler({ auth, metrics: false })((params) => {
    const { event: _e, context: _c, metadata: _m, ...rest } = params as unknown as Record<
      string,
      unknown
    >;
    seen = rest;
    return buildValidatedResponse(context, 200, { ok: true });
  });
  const { result, lines } = await captureLogs(() => handler(make(options), context));
  return { status: result.statusCode, body: JSON.parse(result.body), result, seen, lines };
}

const createEvents = [createRestApiEvent, createHttpApiEvent, createAlbEvent] as const;

function assertRefused({ status, body, result, seen }: Answer, what: string): void {
  assertEquals([status, body.code, seen], [401, "UNAUTHORIZED", undefined], what);
  const headers = { ...result.headers };
  assertEquals(headers["WWW-Authenticate"], "Bearer", what);
}

Deno.test("auth none lets everyone in and adds nothing, with any credential", async () => {
  for (const headers of [{}, { Authorization: "Bearer x" }] as Record<string, string>[]) {
    const { status, seen } = await ask("none", { headers, authorizer: { userId: "u1" } });
    assertEquals([status, seen], [200, {}]);
  }
});

const BEARER: [headers: Record<string, string>, good: boolean][] = [
  [{ Authorization: `Bearer ${TOKEN}` }, true],
  [{ authorization: `bearer ${TOKEN}` }, true],
  [{}, false],
  [{ Authorization: "" }, false],
  [{ Authorization: TOKEN }, false],
  [{ Authorization: `Basic ${TOKEN}` }, false],
  [{ Authorization: "Bearer" }, false],
  [{ Authorization: `Bearer ${TOKEN}x` }, false],
  [{ Authorization: `Bearer ${TOKEN.slice(1)}` }, false],
  [{ Authorization: `Bearer ${TOKEN.toUpperCase()}` }, false],
  [{ Authorization: `Bearer ${TOKEN}, Bearer x` }, false],
  [{ Authorization: `Bearer x, Bearer ${TOKEN}` }, false],
  [{ "X-Api-Key": TOKEN }, false],
  [{ Cookie: `token=${TOKEN}` }, false],
];

for (const [headers, good] of BEARER) {
  Deno.test(`auth bearer ${good ? "takes" : "refuses"} ${JSON.stringify(headers)}`, async () => {
    await withEnv({ API_BEARER_TOKEN: TOKEN }, async () => {
      for (const make of createEvents) {
        const answer = await ask("bearer", { headers }, make);
        if (good) assertEquals([answer.status, answer.seen], [200, {}]);
        else assertRefused(answer, make.name);
        assertFalse(JSON.stringify([answer.result, answer.lines]).includes(TOKEN));
      }
    });
  });
}

for (const token of [undefined, ""]) {
  Deno.test(`auth bearer with API_BEARER_TOKEN ${JSON.stringify(token)} is a configuration error, never an open door`, async () => {
    await withEnv({ API_BEARER_TOKEN: token }, async () => {
      for (
        const headers of [{}, { Authorization: "Bearer " }, {
          Authorization: "Bearer undefined",
        }] as Record<
          string,
          string
        >[]
      ) {
        const { status, body, seen, lines } = await ask("bearer", { headers });
        assertEquals([status, body.code, body.message, seen], [
          500,
          "CONFIGURATION",
          "Internal Server Error",
          undefined,
        ]);
        const line = lines.find(({ level }) => level === "ERROR");
        assertStringIncludes(line?.error.message, "API_BEARER_TOKEN");
      }
    });
  });
}

const OTHER = "next-token-of-a-rotation=";
const ROTATION: [variable: string, good: string[], bad: string[]][] = [
  [`${TOKEN},${OTHER}`, [TOKEN, OTHER], [`${TOKEN},${OTHER}`, "next", TOKEN + OTHER]],
  [` ${TOKEN} ,\n${OTHER}\n`, [TOKEN, OTHER], []],
  [`${TOKEN}\n`, [TOKEN], [OTHER]],
];

for (const [variable, good, bad] of ROTATION) {
  Deno.test(`auth bearer takes each token of ${JSON.stringify(variable)}`, async () => {
    await withEnv({ API_BEARER_TOKEN: variable }, async () => {
      for (const token of good) {
        assertEquals(
          (await ask("bearer", { headers: { Authorization: `Bearer ${token}` } })).status,
          200,
        );
      }
      for (const token of bad) {
        assertRefused(
          await ask("bearer", { headers: { Authorization: `Bearer ${token}` } }),
          token,
        );
      }
    });
  });
}

const UNMATCHABLE = [
  "abc def",
  "Bearer abc",
  "a,,b",
  "a,",
  ",",
  '"abc"',
  "abc=d",
  "ümlaut",
  `${TOKEN};${OTHER}`,
  " ",
];

for (const variable of UNMATCHABLE) {
  Deno.test(`auth bearer with API_BEARER_TOKEN ${JSON.stringify(variable)}, which no request can match, is a configuration error`, async () => {
    await withEnv({ API_BEARER_TOKEN: variable }, async () => {
      for (const token of [variable, "abc", "a"]) {
        const { status, body, seen, lines } = await ask("bearer", {
          headers: { Authorization: `Bearer ${token}` },
        });
        assertEquals([status, body.code, seen], [500, "CONFIGURATION", undefined]);
        const message: string = lines.find(({ level }) => level === "ERROR")?.error.message ?? "";
        assertStringIncludes(message, "API_BEARER_TOKEN");
        assertFalse(variable.length > 3 && message.includes(variable.trim()), message);
      }
    });
  });
}

const { Authenticated, Unauthenticated, Anonymous } = UserStatus;

/** What the gateway's authorizer said, and what is made of it: a status, and the user's id. */
const AUTHORIZERS: [
  authorizer: Record<string, unknown> | undefined,
  status: UserStatus,
  userId: string | undefined,
][] = [
  [undefined, Anonymous, undefined],
  [{}, Anonymous, undefined],
  [{ userId: "u1" }, Authenticated, "u1"],
  [{ userId: 7 }, Authenticated, "7"],
  [{ userId: "" }, Anonymous, undefined],
  [{ principalId: "p1" }, Anonymous, undefined],
  [{ userId: "u1", userStatus: "Authenticated" }, Authenticated, "u1"],
  [{ principalId: "p1", userStatus: "Authenticated" }, Authenticated, "p1"],
  [{ userId: "u1", principalId: "p1", userStatus: "Authenticated" }, Authenticated, "u1"],
  [{ userStatus: "Authenticated" }, Unauthenticated, undefined],
  [{ userStatus: "Authenticated", userId: "", principalId: "" }, Unauthenticated, undefined],
  [{ userStatus: "Authenticated", userId: { id: "u1" } }, Unauthenticated, undefined],
  [{ userStatus: "Anonymous" }, Anonymous, undefined],
  [{ userStatus: "Anonymous", userId: "u1", principalId: "p1" }, Anonymous, undefined],
  [{ userStatus: "Unauthenticated" }, Unauthenticated, undefined],
  [{ userStatus: "Unauthenticated", userId: "u1" }, Unauthenticated, undefined],
  [{ userStatus: "authenticated", userId: "u1" }, Unauthenticated, undefined],
  [{ userStatus: "Admin", userId: "u1" }, Unauthenticated, undefined],
  [{ userStatus: "", userId: "u1" }, Unauthenticated, undefined],
  [{ userStatus: true, userId: "u1" }, Unauthenticated, undefined],
  [{ userStatus: null, userId: "u1" }, Authenticated, "u1"],
];

for (const [authorizer, status, userId] of AUTHORIZERS) {
  const name = JSON.stringify(authorizer) ?? "nothing";
  Deno.test(`auth authorizer ${status === Authenticated ? "takes" : "refuses"} ${name}`, async () => {
    for (const make of [createRestApiEvent, createHttpApiEvent]) {
      const answer = await ask("authorizer", { authorizer }, make);
      if (status === Authenticated) {
        assertEquals(answer.seen, { authorizer, userId, userStatus: status });
      } else assertRefused(answer, make.name);
    }
  });

  Deno.test(`auth authorizer-optional finds ${status} in ${name}`, async () => {
    for (const make of [createRestApiEvent, createHttpApiEvent]) {
      const answer = await ask("authorizer-optional", { authorizer }, make);
      if (status === Unauthenticated) assertRefused(answer, make.name);
      else assertEquals(answer.seen, { authorizer: authorizer ?? {}, userId, userStatus: status });
    }
  });
}

/** What the gateway's own authorizers give: of an HTTP API, of one with payload format 1.0, of a REST API (Cognito). */
const tokens = (claims: unknown) =>
  [
    [createHttpApiEvent, { jwt: { claims, scopes: null } }],
    [createRestApiEvent, { claims, scopes: null }],
    [createRestApiEvent, { claims }],
  ] as const;

/** The event with what the gateway said, where it says it. */
function withAuthorizer(
  make: typeof createHttpApiEvent | typeof createRestApiEvent,
  authorizer: object,
): ApiEvent {
  const event = make({});
  return { ...event, requestContext: { ...event.requestContext, authorizer } } as ApiEvent;
}

async function askWithClaims(
  auth: "authorizer" | "authorizer-optional",
  event: ApiEvent,
  userIdClaim?: string,
) {
  let seen: { userId?: string; userStatus: UserStatus } | undefined;
  const handler = defineApiHandler({ auth, metrics: false, ...(userIdClaim && { userIdClaim }) })(
    ({ userId, userStatus }) => {
      seen = { userId, userStatus };
      return buildValidatedResponse(context, 200, {});
    },
  );
  const { result, lines } = await captureLogs(() => handler(event, context));
  return { status: result.statusCode, seen, lines };
}

const CLAIMS: [claims: unknown, userIdClaim: string, userId: string | undefined][] = [
  [{ sub: "u1", email: "ada@example.com" }, "sub", "u1"],
  [{ sub: "u1", email: "ada@example.com" }, "email", "ada@example.com"],
  [{ "cognito:username": "ada" }, "cognito:username", "ada"],
  [{ sub: 7 }, "sub", "7"],
  [{ sub: "" }, "sub", undefined],
  [{ sub: null }, "sub", undefined],
  [{ sub: ["u1"] }, "sub", undefined],
  [{ userId: "u1", userStatus: "Authenticated", principalId: "u1" }, "sub", undefined],
  [{}, "toString", undefined],
  [{}, "__proto__", undefined],
];

for (const [claims, userIdClaim, userId] of CLAIMS) {
  const verdict = userId === undefined ? "refuses" : "takes";
  Deno.test(`auth authorizer ${verdict} ${JSON.stringify(claims)} with userIdClaim ${userIdClaim}`, async () => {
    for (const [make, authorizer] of tokens(claims)) {
      for (const auth of ["authorizer", "authorizer-optional"] as const) {
        const { status, seen } = await askWithClaims(
          auth,
          withAuthorizer(make, authorizer),
          userIdClaim,
        );
        const expected = userId === undefined
          ? [401, undefined]
          : [200, { userId, userStatus: Authenticated }];
        assertEquals([status, seen], expected);
      }
    }
  });
}

const UNCONFIGURED: [name: string, authorizer: object][] = [
  ["userIdClaim", { jwt: { claims: { sub: "u1" } } }],
  ["userIdClaim", { jwt: { claims: null } }],
  ["userIdClaim", { jwt: {} }],
  ["by IAM", { iam: { userId: "AIDA", callerId: "x" } }],
];

for (const [name, authorizer] of UNCONFIGURED) {
  Deno.test(`auth authorizer is not anonymous for ${JSON.stringify(authorizer)}, but a configuration error`, async () => {
    for (const auth of ["authorizer", "authorizer-optional"] as const) {
      const { status, seen, lines } = await askWithClaims(
        auth,
        withAuthorizer(createHttpApiEvent, authorizer),
      );
      assertEquals([status, seen], [500, undefined]);
      assertStringIncludes(lines.find(({ level }) => level === "ERROR")?.error.message, name);
    }
  });
}

Deno.test("auth authorizer with userIdClaim reads other authorizers as before", async () => {
  for (const make of [createRestApiEvent, createHttpApiEvent]) {
    const known = make({
      authorizer: { userId: "u1", userStatus: "Authenticated", claims: "a text" },
    });
    assertEquals((await askWithClaims("authorizer", known, "sub")).seen?.userId, "u1");
    assertEquals(
      (await askWithClaims("authorizer-optional", make({}), "sub")).seen?.userStatus,
      Anonymous,
    );
  }
});

Deno.test("auth authorizer does not fall back to a bearer token or to a session", async () => {
  setSessionCheck(() => Promise.resolve(SESSION));
  await withEnv({ API_BEARER_TOKEN: TOKEN }, async () => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    assertRefused(await ask("authorizer", { headers }), "authorizer");
    assertRefused(
      await ask("authorizer-optional", { headers, authorizer: { userStatus: "Unauthenticated" } }),
      "optional",
    );
    assertEquals((await ask("authorizer-optional", { headers })).seen?.userStatus, Anonymous);
  });
  setSessionCheck(undefined);
});

Deno.test("auth bearer does not fall back to what an authorizer said", async () => {
  await withEnv({ API_BEARER_TOKEN: TOKEN }, async () => {
    const authorizer = { userId: "u1", userStatus: "Authenticated" };
    assertRefused(await ask("bearer", { authorizer }), "no header");
    assertRefused(
      await ask("bearer", { authorizer, headers: { Authorization: "Bearer x" } }),
      "wrong token",
    );
  });
});

const SESSION: SessionResult = {
  user: { id: "u1", email: "ada@example.com", emailVerified: true },
  session: { id: "s1", token: "t1", expiresAt: new Date(0) },
};

Deno.test("auth session hands the event to the registered check, and its result to the handler", async () => {
  const headersSeen: unknown[] = [];
  setSessionCheck((event) => {
    headersSeen.push(getHeader(event, "Authorization"));
    return Promise.resolve(SESSION);
  });
  for (const make of createEvents) {
    const { seen } = await ask(
      "session",
      { headers: { Authorization: "Bearer t1" }, authorizer: { userId: "u2" } },
      make,
    );
    assertEquals(seen, { userId: "u1", session: SESSION });
    await ask("session", {}, make);
  }
  assertEquals(headersSeen, [
    "Bearer t1",
    undefined,
    "Bearer t1",
    undefined,
    "Bearer t1",
    undefined,
  ]);
  setSessionCheck(undefined);
});

Deno.test("auth session refuses what the registered check refuses, without a fallback", async () => {
  setSessionCheck(() => Promise.reject(new UnauthorizedError("The session has expired")));
  await withEnv({ API_BEARER_TOKEN: TOKEN }, async () => {
    const answer = await ask("session", {
      headers: { Authorization: `Bearer ${TOKEN}` },
      authorizer: { userId: "u1" },
    });
    assertRefused(answer, "session");
    assertEquals(answer.body.message, "The session has expired");
  });
  setSessionCheck(undefined);
});

Deno.test("auth session without a registered check is a configuration error", async () => {
  setSessionCheck(undefined);
  const { status, body, seen, lines } = await ask("session", {
    headers: { Authorization: "Bearer t1" },
  });
  assertEquals([status, body.code, seen], [500, "CONFIGURATION", undefined]);
  assertStringIncludes(lines[0].error.message, "configureSessionAuth");
});

Deno.test("auth session whose check breaks is a failure of the service, not of the client", async () => {
  setSessionCheck(() => Promise.reject(new Error("database down")));
  const { status, body, seen } = await ask("session", { headers: { Authorization: "Bearer t1" } });
  assertEquals([status, body.message, seen], [500, "Internal Server Error", undefined]);
  setSessionCheck(undefined);
});
