import { assertEquals } from "@std/assert";
import type { AuthMethodMode } from "../../core/http/auth_method.ts";
import { setTrustedOriginCheck } from "../../core/http/cors.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { createRestApiEvent } from "../../testing/mod.ts";
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
