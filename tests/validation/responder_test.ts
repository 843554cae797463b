import { assertEquals } from "@std/assert";
import type { AuthMethodMode } from "../../core/http/auth_method.ts";
import { setTrustedOriginCheck } from "../../core/http/cors.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { NotFoundError } from "../../errors/http_errors.ts";
import { createAlbEvent, createHttpApiEvent, createRestApiEvent } from "../../testing/mod.ts";
import { createResponder, type ResponderOptions } from "../../validation/responder.ts";

const HEADERS: readonly Record<string, string>[] = [
  {},
  { "X-Forwarded-Proto": "https" },
  { Origin: "https://a.example", "X-Forwarded-Proto": "http" },
  { Origin: "https://b.example", "X-Forwarded-Proto": "https" },
];
const OPTIONS: readonly (ResponderOptions & { mode?: AuthMethodMode })[] = [
  {},
  { mode: "session" },
  { cors: "*", mode: "session" },
  { cors: ["https://a.example", "https://c.example"] },
  { cors: { origins: ["https://a.example"], credentials: true } },
  { securityHeaders: false },
  { securityHeaders: { "Cache-Control": "no-cache", "X-Content-Type-Options": false } },
];

function respond(
  { mode = "none", ...options }: typeof OPTIONS[number],
  member: { isBase64Encoded?: boolean },
): unknown[] {
  const { respond, respondToError } = createResponder(options, { mode });
  // several requests to one handler, in turns
  return [...HEADERS, ...HEADERS].flatMap((headers, at) => {
    const event = createRestApiEvent({ path: "/", headers }) as ApiEvent;
    const id = `id-${at}`;
    const own = { "Content-Type": "application/json", "X-Correlation-Id": id };
    const result = { statusCode: 200, headers: own, body: "{}", ...member };
    const error = respondToError(new Error("failed"), { awsRequestId: id } as never, event);
    return [respond(event, result, id), { ...error, body: "" }];
  });
}

for (const isTrusted of [undefined, (_: ApiEvent, origin: string) => origin.includes("b.")]) {
  for (const options of OPTIONS) {
    const name = `${JSON.stringify(options)}${isTrusted ? ", with trusted origins" : ""}`;
    Deno.test(`a usual response gets the headers of any other with ${name}`, () => {
      setTrustedOriginCheck(isTrusted);
      try {
        // with one more member, a response is not the usual one
        assertEquals(respond(options, {}), respond(options, { isBase64Encoded: false }));
      } finally {
        setTrustedOriginCheck(undefined);
      }
    });
  }
}

Deno.test("a response has the headers of its own request", () => {
  setTrustedOriginCheck(() => false);
  try {
    const [first, , second] = respond({ mode: "session" }, {});
    const headers = {
      "Content-Type": "application/json",
      "X-Correlation-Id": "id-0",
      Vary: "Origin",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    };
    const secure = { "Strict-Transport-Security": "max-age=31536000" };
    assertEquals(first, { statusCode: 200, headers, body: "{}" });
    assertEquals(second, {
      statusCode: 200,
      headers: { ...headers, "X-Correlation-Id": "id-1", ...secure },
      body: "{}",
    });
  } finally {
    setTrustedOriginCheck(undefined);
  }
});

for (const create of [createRestApiEvent, createHttpApiEvent, createAlbEvent]) {
  Deno.test(`a response to HEAD has the headers, and no body, of one to GET with ${create.name}()`, () => {
    const { respond, respondToError } = createResponder({});
    const answer = (method: string) => {
      const event = create({ method, path: "/" });
      const result = {
        statusCode: 200,
        headers: { "X-One": "1" },
        body: "AA==",
        isBase64Encoded: true,
      };
      const error = respondToError(new NotFoundError(), { awsRequestId: "id" } as never, event);
      return [respond(event, result, "id"), error].map(({ body, isBase64Encoded, ...head }) => ({
        head: { ...head, headers: { ...head.headers, "X-Correlation-Id": undefined } },
        sent: [body === "", isBase64Encoded === true],
      }));
    };
    const [get, head] = [answer("GET"), answer("HEAD")];
    assertEquals(head.map((each) => each.head), get.map((each) => each.head));
    assertEquals(get.map(({ sent }) => sent), [[false, true], [false, false]]);
    assertEquals(head.map(({ sent }) => sent), [[true, false], [true, false]]);
  });
}
