import { assert, assertEquals, assertFalse, assertMatch } from "@std/assert";
import {
  type ApiEvent,
  buildErrorResponse,
  buildValidatedResponse,
  getOutgoingHeaders,
  type ProxyResult,
} from "../../core/mod.ts";
import { AppError, TooManyRequestsError } from "../../errors/mod.ts";
import {
  createAlbEvent,
  createFakeClock,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

const context = createLambdaContext({ clock: createFakeClock() });
const SOURCES: [string, (options: EventOptions) => ApiEvent][] = [
  ["REST API", createRestApiEvent],
  ["HTTP API", createHttpApiEvent],
  ["function URL", createFunctionUrlEvent],
  ["load balancer", createAlbEvent],
  [
    "load balancer with multi-value headers",
    (options) => createAlbEvent({ ...options, multiValue: true }),
  ],
];
const INJECTED = "a\r\nSet-Cookie: admin=1\r\n\r\n<script>\n\0";

/** Each name and value of each header and cookie. */
function getParts({ headers = {}, multiValueHeaders = {}, cookies = [] }: ProxyResult): string[] {
  return [
    ...Object.entries(headers).flat().map(String),
    ...Object.entries(multiValueHeaders).flatMap(([name, values]) => [name, ...values.map(String)]),
    ...cookies,
  ];
}

function assertWhole(result: ProxyResult, what: string): void {
  for (const part of getParts(result)) {
    assertFalse(/[\r\n\0]/.test(part), `${what}: ${JSON.stringify(part)}`);
  }
  const names = [
    ...Object.keys(result.headers ?? {}),
    ...Object.keys(result.multiValueHeaders ?? {}),
  ];
  for (const name of names) assertMatch(name, /^[\w!#$%&'*+.^`|~-]+$/, what);
}

for (const [source, make] of SOURCES) {
  Deno.test(`a correlation id from a ${source} is replaced unless it is plain`, async () => {
    const handler = defineApiHandler({ metrics: false })(({ metadata }) =>
      buildValidatedResponse(context, 200, {
        id: metadata.correlationId,
        out: getOutgoingHeaders(),
      })
    );
    const hostile = [
      INJECTED,
      "id\nforged log line",
      "<script>alert(1)</script>",
      "${jndi:ldap://example.com}",
      "a".repeat(129),
      "\x1b[2J",
      "id;DROP",
      "é",
      " ",
      "",
      "‮",
    ];
    for (const id of hostile) {
      for (const header of ["X-Correlation-Id", "x-request-id"]) {
        const { result, writes } = await captureLogs(() =>
          handler(make({ headers: { [header]: id } }), context)
        );
        assertEquals(result.statusCode, 200);
        assertWhole(result, id);
        const { id: taken, out } = JSON.parse(result.body!);
        assertMatch(taken, /^[A-Za-z0-9._:-]{1,128}$/);
        assertEquals(out["X-Correlation-Id"], taken);
        assert(id === "" || id === " " || !writes.join("").includes(id), id);
      }
    }
  });

  Deno.test(`no header, cookie or error splits the response to a ${source}`, async () => {
    const answers: [string, () => ProxyResult][] = [
      ["a value", () => ({ statusCode: 200, headers: { Location: INJECTED }, body: "" })],
      [
        "a name",
        () => ({ statusCode: 200, headers: { [INJECTED]: "application/json" }, body: "" }),
      ],
      [
        "a name among others",
        () => ({ statusCode: 302, headers: { Location: "/", ["X\r\nA"]: "1" }, body: "" }),
      ],
      [
        "several values",
        () => ({ statusCode: 200, multiValueHeaders: { Link: ["a", INJECTED] }, body: "" }),
      ],
      [
        "a name of several values",
        () => ({ statusCode: 200, multiValueHeaders: { [INJECTED]: ["a"] }, body: "" }),
      ],
      ["a cookie", () => ({ statusCode: 200, cookies: [`theme=${INJECTED}`], body: "" })],
      [
        "a cookie among headers",
        () => ({ statusCode: 200, headers: { "set-cookie": `a=${INJECTED}` }, body: "" }),
      ],
      [
        "the response builder",
        () =>
          buildValidatedResponse(context, 200, {}, undefined, {
            headers: { "X-Name": INJECTED, [`X-${INJECTED}`]: "application/json" },
            cookies: [`a=${INJECTED}`],
          }),
      ],
      ["an error's headers", () => {
        throw new AppError("TOO_MANY_REQUESTS", "slow down", {
          headers: { "X-Why": INJECTED, [INJECTED]: "1" },
        });
      }],
      ["an error's message", () => {
        throw new TooManyRequestsError(INJECTED);
      }],
    ];
    // a list with such a value is refused when the handler is defined
    await withEnv({ CORS_ALLOW_ORIGIN: "https://app.example.com" }, async () => {
      for (const [name, answer] of answers) {
        const handler = defineApiHandler({ metrics: false })(answer);
        const { result } = await captureLogs(() =>
          handler(make({ headers: { Origin: INJECTED } }), context)
        );
        assertWhole(result, name);
        assert(result.statusCode < 500, `${name}: ${result.statusCode}`);
      }
    });
  });
}

Deno.test("a request's origin is allowed only if it is in the list", async () => {
  const handler = defineApiHandler({
    cors: ["https://app.example", "https://b.example"],
    metrics: false,
  })(() => ({
    statusCode: 200,
    body: "",
  }));
  const origins = [
    "https://app.example",
    "https://app.example.evil.example",
    "https://APP.example",
    "null",
    "*",
    "",
  ];
  const answered = await Promise.all(origins.map(async (Origin) => {
    const { result } = await captureLogs(() =>
      handler(createRestApiEvent({ headers: { Origin } }), context)
    );
    return result.headers?.["Access-Control-Allow-Origin"];
  }));
  assertEquals(answered, ["https://app.example", ...Array(5).fill(undefined)]);
});

Deno.test("an error response is JSON that clients do not interpret as markup", () => {
  const response = buildErrorResponse(context, new TooManyRequestsError(INJECTED));
  assertEquals(response.headers?.["Content-Type"], "application/json");
  assertEquals(JSON.parse(response.body!).message, INJECTED);
});
