import {
  assertEquals,
  assertFalse,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { UserStatus } from "../../../core/mod.ts";
import {
  type AuthorizerDecision,
  type AuthorizerEvent,
  type AuthorizerHandlerFunction,
  type AuthorizerHandlerOptions,
  type AuthorizerPolicyResult,
  type AuthorizerResult,
  type AuthorizerSimpleResult,
  defineAuthorizerHandler,
} from "../../../triggers/mod.ts";
import {
  ConfigurationError,
  ServiceUnavailableError,
  UnauthorizedError,
} from "../../../errors/mod.ts";
import {
  createFakeClock,
  createHttpApiEvent,
  createHttpAuthorizerEvent,
  createLambdaContext,
  createRequestAuthorizerEvent,
  createRestApiEvent,
  createTokenAuthorizerEvent,
  createWebSocketConnectEvent,
} from "../../../testing/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";
import { captureLogs, type LogLine } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });
const TOKEN = "tok-0123456789abcdef";
const STAGE = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/test/*";

const request = {
  method: "POST",
  path: "/notes/n1",
  headers: { Authorization: `Bearer ${TOKEN}`, "X-Tenant": "t1" },
  query: { a: ["1", "2"] },
};
const rest = createRequestAuthorizerEvent(request);
const http = createHttpAuthorizerEvent(request);
const token = createTokenAuthorizerEvent(`Bearer ${TOKEN}`, request);
const connect = createWebSocketConnectEvent({
  headers: { Authorization: `Bearer ${TOKEN}` },
  query: { room: "1" },
});
const webSocket = {
  ...connect,
  type: "REQUEST",
  methodArn: "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/test/$connect",
} as unknown as typeof rest;
const events: [name: string, event: AuthorizerEvent][] = [
  ["REQUEST", rest],
  ["TOKEN", token],
  ["WebSocket", webSocket],
  ["HTTP API", http],
];

interface Outcome {
  result?: AuthorizerResult;
  error?: Error;
  lines: LogLine[];
  text: string;
}

async function run(
  event: AuthorizerEvent,
  handler: AuthorizerHandlerFunction,
  options: AuthorizerHandlerOptions = {},
): Promise<Outcome> {
  const { result, lines, writes } = await captureLogs(async () => {
    try {
      return { result: await defineAuthorizerHandler(options)(handler)(event, context) };
    } catch (error) {
      return { error: error as Error };
    }
  });
  return { ...result, lines, text: writes.join("") };
}

function expectAllowed(
  event: AuthorizerEvent,
  result: unknown,
  principalId: string,
  facts: object,
): void {
  assertEquals(
    result,
    event === http ? { isAuthorized: true, context: facts } : {
      principalId,
      policyDocument: {
        Version: "2012-10-17",
        Statement: [{ Action: "execute-api:Invoke", Effect: "Allow", Resource: STAGE }],
      },
      context: facts,
    },
  );
}

function expectDenied(event: AuthorizerEvent, { result, error }: Outcome): void {
  if (event === http) assertEquals(result, { isAuthorized: false, context: {} });
  // this very message is the gateway's sign for 401
  else {assertEquals([error?.constructor, error?.message, error?.cause], [
      Error,
      "Unauthorized",
      undefined,
    ]);}
}

Deno.test("defineAuthorizerHandler() gives the handler what tells who calls, whatever asks", async () => {
  const seen: Record<string, unknown> = {};
  for (const [name, event] of events) {
    await run(event, ({ event: own, context: _context, metadata, ...asked }) => {
      assertEquals([own, metadata.requestId], [event, "r-1"]);
      seen[name] = asked;
      return { userStatus: "Anonymous" };
    });
  }
  const common = { token: TOKEN, method: "POST", path: "/notes/n1" };
  const headers = { authorization: `Bearer ${TOKEN}`, "x-tenant": "t1" };
  assertEquals(seen, {
    REQUEST: { ...common, headers, query: { a: "2" } },
    TOKEN: { ...common, headers: {}, query: {} },
    WebSocket: {
      token: TOKEN,
      method: "GET",
      path: "/",
      headers: { authorization: `Bearer ${TOKEN}` },
      query: { room: "1" },
    },
    "HTTP API": { ...common, headers, query: { a: "2" } },
  });
});

const credentials: [header: string | undefined, token: string | undefined][] = [
  [undefined, undefined],
  ["", undefined],
  ["  ", undefined],
  [`Bearer ${TOKEN}`, TOKEN],
  [`bearer  ${TOKEN}`, TOKEN],
  // shown and of another form: never taken for none
  ["Bearer", "Bearer"],
  ["Bearer a b", "Bearer a b"],
  ["Basic dTpw", "Basic dTpw"],
  ["raw-api-key", "raw-api-key"],
];

for (const [header, expected] of credentials) {
  Deno.test(`defineAuthorizerHandler() takes ${expected} for the token of the header ${header}`, async () => {
    const seen: unknown[] = [];
    const headers = header === undefined ? undefined : { Authorization: header };
    const asked: AuthorizerEvent[] = [
      createRequestAuthorizerEvent({ headers }),
      createHttpAuthorizerEvent({ headers }),
    ];
    if (header !== undefined) asked.push(createTokenAuthorizerEvent(header));
    for (const event of asked) {
      await run(event, ({ token }) => {
        seen.push(token);
        return { userStatus: UserStatus.Anonymous };
      });
    }
    assertEquals(seen, asked.map(() => expected));
  });
}

const facts = { tenant: "t1", level: 3, admin: false };
const decisions: [decision: AuthorizerDecision, principalId: string, context: object][] = [
  [{ userStatus: UserStatus.Authenticated, userId: "u1", context: facts }, "u1", {
    ...facts,
    userStatus: "Authenticated",
    userId: "u1",
  }],
  [{ userStatus: "Authenticated", userId: "u1", context: { x: undefined } }, "u1", {
    userStatus: "Authenticated",
    userId: "u1",
  }],
  [{ userStatus: "Anonymous" }, "Anonymous", { userStatus: "Anonymous" }],
  [{ userStatus: "Unauthenticated", context: facts }, "Unauthenticated", {
    ...facts,
    userStatus: "Unauthenticated",
  }],
  [{ userStatus: "Unauthenticated", userId: "u1" }, "Unauthenticated", {
    userStatus: "Unauthenticated",
  }],
];

for (const [name, event] of events) {
  for (const [decision, principalId, expected] of decisions) {
    Deno.test(`defineAuthorizerHandler() answers ${name} on ${JSON.stringify(decision)}, for the whole stage`, async () => {
      expectAllowed(event, (await run(event, () => decision)).result, principalId, expected);
    });
  }

  Deno.test(`defineAuthorizerHandler() denies ${name} whom its options deny, which is no failure of the service`, async () => {
    for (
      const [option, userStatus] of [["anonymous", "Anonymous"], [
        "unauthenticated",
        "Unauthenticated",
      ]] as const
    ) {
      const outcome = await run(event, () => ({ userStatus }), { [option]: "deny" });
      expectDenied(event, outcome);
      assertEquals([outcome.lines[0].level, outcome.lines[0].error_code], ["INFO", "UNAUTHORIZED"]);
      const other = userStatus === "Anonymous" ? "Unauthenticated" : "Anonymous";
      const passed = await run(event, () => ({ userStatus: other }), { [option]: "deny" });
      expectAllowed(event, passed.result, other, { userStatus: other });
    }
  });

  Deno.test(`defineAuthorizerHandler() denies ${name} when the handler throws, and logs it without the credential`, async () => {
    const cause = Object.assign(new Error(`jwt malformed: ${TOKEN}`), {
      code: "E_JWT",
      details: { given: [TOKEN] },
    });
    const outcome = await run(
      event,
      () => Promise.reject(new TypeError(`no user for Authorization ${TOKEN}`, { cause })),
    );
    expectDenied(event, outcome);
    const [{ level, message, error }] = outcome.lines;
    assertEquals([level, message, error.name, error.message], [
      "ERROR",
      "request failed",
      "TypeError",
      "no user for Authorization [REDACTED]",
    ]);
    assertEquals([error.cause.message, error.cause.code, error.cause.details], [
      "jwt malformed: [REDACTED]",
      "E_JWT",
      {
        given: ["[REDACTED]"],
      },
    ]);
    assertStringIncludes(error.stack, "authorizer_test.ts");
    assertFalse(outcome.text.includes(TOKEN), outcome.text);
    assertEquals(outcome.lines.find((line) => "_aws" in line)?.Errors, 1);
  });

  Deno.test(`defineAuthorizerHandler() takes a thrown UnauthorizedError of ${name} for the caller's fault`, async () => {
    const outcome = await run(event, () => Promise.reject(new UnauthorizedError(`bad ${TOKEN}`)));
    expectDenied(event, outcome);
    assertEquals([outcome.lines[0].level, outcome.lines[0].error_code], ["INFO", "UNAUTHORIZED"]);
    assertFalse(outcome.text.includes(TOKEN));
  });

  Deno.test(`onError throw lets ${name} answer 500 over a failure of the service, and still denies bad credentials`, async () => {
    const failed = await run(event, () => Promise.reject(new ServiceUnavailableError()), {
      onError: "throw",
    });
    assertEquals([failed.result, failed.error?.message], [undefined, "The authorizer failed"]);
    expectDenied(
      event,
      await run(event, () => Promise.reject(new UnauthorizedError()), { onError: "throw" }),
    );
  });

  Deno.test(`logging.logEvent shows nothing of the credential that ${name} hands over`, async () => {
    const { text, lines } = await run(event, () => ({ userStatus: "Anonymous" }), {
      logging: { level: "DEBUG", logEvent: true, redact: ["x-tenant"] },
    });
    assertEquals(lines[0].message, "event");
    assertFalse(text.includes(TOKEN), text);
  });
}

Deno.test("defineAuthorizerHandler() keeps raw keys, cookies and query tokens out of the log of a failure", async () => {
  const secrets = ["raw-api-key-1", "session-2-abcdef", "query-token-3"];
  const [key, cookie, query] = secrets;
  const asked = {
    headers: { "X-Api-Key": key, Cookie: `a=1; sid=${cookie}` },
    query: { access_token: query },
  };
  for (const event of [createRequestAuthorizerEvent(asked), createHttpAuthorizerEvent(asked)]) {
    const { text, lines } = await run(
      event,
      () => Promise.reject(new AggregateError([new Error(secrets.join(" "))], secrets.join(" "))),
    );
    assertEquals(lines[0].error.errors.length, 1);
    for (const secret of secrets) assertFalse(text.includes(secret), text);
  }
});

Deno.test("logging.logEvent shows no raw key that an HTTP API repeats as the identity source", async () => {
  const event = createHttpAuthorizerEvent({ headers: { Authorization: "raw-api-key-1" } });
  assertEquals(event.identitySource, ["raw-api-key-1"]);
  const { text } = await run(event, () => ({ userStatus: "Anonymous" }), {
    logging: { level: "DEBUG", logEvent: true },
  });
  assertFalse(text.includes("raw-api-key-1"), text);
});

const wrong: [decision: unknown, message: string][] = [
  [undefined, "returned no userStatus"],
  [{}, "returned no userStatus that is Authenticated, Unauthenticated, Anonymous"],
  [{ userStatus: "authenticated" }, "returned no userStatus"],
  [{ userStatus: "Authenticated" }, "Authenticated without a userId"],
  [{ userStatus: "Authenticated", userId: "" }, "Authenticated without a userId"],
  [{ userStatus: "Authenticated", userId: 7 }, "Authenticated without a userId"],
  [{ userStatus: "Anonymous", context: { roles: ["a"] } }, "a object as roles"],
  [{ userStatus: "Anonymous", context: { x: null } }, "a object as x"],
  [{ userStatus: "Anonymous", context: { x: NaN } }, "a number as x"],
  [{ userStatus: "Anonymous", context: { x: 1n } }, "a bigint as x"],
  [
    { userStatus: "Anonymous", context: { userStatus: "Authenticated" } },
    "must not have userStatus",
  ],
  [{ userStatus: "Anonymous", context: { userId: "u1" } }, "must not have userId"],
  [{ userStatus: "Anonymous", context: { principalId: "u1" } }, "must not have principalId"],
];

for (const [i, [decision, message]] of wrong.entries()) {
  Deno.test(`defineAuthorizerHandler() denies an unreadable decision: ${message}, ${i}`, async () => {
    for (const [, event] of events) {
      const outcome = await run(event, () => decision as AuthorizerDecision);
      expectDenied(event, outcome);
      assertStringIncludes(outcome.lines[0].error.message, message);
    }
  });
}

Deno.test("defineAuthorizerHandler() builds the policy for the stage of any method's ARN, in any partition", async () => {
  const arns: [methodArn: string, resource: string][] = [
    ["arn:aws:execute-api:eu-west-1:1:api/live/GET/", "arn:aws:execute-api:eu-west-1:1:api/live/*"],
    [
      "arn:aws-cn:execute-api:cn-north-1:1:api/live/DELETE/a/b:c/d",
      "arn:aws-cn:execute-api:cn-north-1:1:api/live/*",
    ],
    [
      "arn:aws:execute-api:eu-west-1:1:api/ESTestInvoke-stage/GET/",
      "arn:aws:execute-api:eu-west-1:1:api/ESTestInvoke-stage/*",
    ],
  ];
  for (const [methodArn, resource] of arns) {
    const { result } = await run({ ...rest, methodArn }, () => ({ userStatus: "Anonymous" }));
    assertEquals(
      (result as AuthorizerPolicyResult).policyDocument.Statement.map((statement) =>
        statement.Resource
      ),
      [
        resource,
      ],
    );
  }
});

for (const event of [{}, null, { type: "REQUEST", methodArn: "*" }, createRestApiEvent()]) {
  Deno.test(`defineAuthorizerHandler() denies over an event that asks for nothing: ${JSON.stringify(event)?.slice(0, 60)}`, async () => {
    const outcome = await run(event as AuthorizerEvent, () => ({ userStatus: "Anonymous" }));
    assertEquals(outcome.error?.message, "Unauthorized");
    assertStringIncludes(
      outcome.lines[0].error.message,
      "a gateway must call this function as one",
    );
  });
}

Deno.test("defineAuthorizerHandler() tells of the handler's failure also when the event shows nothing", async () => {
  const { methodArn } = token;
  const bare = [{ type: "TOKEN", methodArn }, { type: "REQUEST", methodArn }, {
    ...http,
    headers: undefined,
    identitySource: [null],
  }];
  for (const event of bare as unknown as AuthorizerEvent[]) {
    const { lines } = await run(event, () => Promise.reject(new TypeError("why")));
    assertEquals(lines[0].error.message, "why");
  }
});

Deno.test("defineAuthorizerHandler() denies when its time is up", async () => {
  const handler = defineAuthorizerHandler()(() => new Promise<never>(() => {}));
  const hold = setTimeout(() => {}, 10_000);
  const { lines } = await captureLogs(() =>
    assertRejects(
      () => handler(rest, createLambdaContext({ timeoutMs: 40 })),
      Error,
      "Unauthorized",
    )
  );
  clearTimeout(hold);
  assertEquals(lines[0].error.code, "DEADLINE_EXCEEDED");
});

const answers: [userStatus: UserStatus, authorizer: number, optional: number][] = [
  [UserStatus.Authenticated, 200, 200],
  [UserStatus.Anonymous, 401, 200],
  [UserStatus.Unauthenticated, 401, 401],
];

for (const [userStatus, required, optional] of answers) {
  Deno.test(`handlers read the context: ${userStatus} gets ${required} of authorizer, ${optional} of authorizer-optional`, async () => {
    const decide: AuthorizerHandlerFunction = () => ({ userStatus, userId: "u1" });
    const { context: ofRest } = (await run(rest, decide)).result as AuthorizerPolicyResult;
    const { context: ofHttp } = (await run(http, decide)).result as AuthorizerSimpleResult;
    for (
      const [auth, status] of [["authorizer", required], ["authorizer-optional", optional]] as const
    ) {
      const handler = defineApiHandler({ auth })(({ userId }) => ({
        statusCode: 200,
        body: String(userId),
      }));
      for (
        const event of [
          createRestApiEvent({ authorizer: ofRest }),
          createHttpApiEvent({ authorizer: ofHttp }),
        ]
      ) {
        const { result } = await captureLogs(() => handler(event, context));
        assertEquals(result.statusCode, status);
        if (status === 200) {
          assertEquals(result.body, userStatus === UserStatus.Authenticated ? "u1" : "undefined");
        } else {assertEquals(Object.keys(JSON.parse(result.body)), [
            "message",
            "code",
            "requestId",
            "correlationId",
          ]);}
      }
    }
  });
}

Deno.test("defineAuthorizerHandler() types the result by the event", async () => {
  const handler = defineAuthorizerHandler()(() => ({ userStatus: "Anonymous" }));
  const { result } = await captureLogs(async () => {
    const policy: AuthorizerPolicyResult = await handler(rest, context);
    const simple: AuthorizerSimpleResult = await handler(http, context);
    return [policy.principalId, simple.isAuthorized];
  });
  assertEquals(result, ["Anonymous", true]);
});

Deno.test("defineAuthorizerHandler() checks its options and keeps the user's own function", () => {
  const bad: [options: unknown, message: string][] = [
    [{ anonymous: "no" }, 'anonymous is "no": it must be allow or deny'],
    [{ unauthenticated: true }, "unauthenticated is true: it must be allow or deny"],
    [{ onError: null }, "onError is null: it must be deny or throw"],
    [{ ttl: 5 }, "defineAuthorizerHandler has no option ttl"],
  ];
  for (const [options, message] of bad) {
    assertThrows(
      () => defineAuthorizerHandler(options as AuthorizerHandlerOptions),
      ConfigurationError,
      message,
    );
  }
  const handler: AuthorizerHandlerFunction = () => ({ userStatus: "Anonymous" });
  assertEquals(defineAuthorizerHandler()(handler).handler, handler);
});
