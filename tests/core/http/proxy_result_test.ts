import { assertEquals, assertThrows } from "@std/assert";
import { getSource } from "../../../core/http/api_event.ts";
import type { ProxyResult } from "../../../core/mod.ts";
import { toGatewayResult } from "../../../core/http/proxy_result.ts";
import { UnexpectedError } from "../../../errors/mod.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createRestApiEvent,
} from "../../../testing/mod.ts";

const EVENTS = {
  rest: createRestApiEvent(),
  http: createHttpApiEvent(),
  functionUrl: createFunctionUrlEvent(),
  alb: createAlbEvent(),
  albAll: createAlbEvent({ multiValue: true }),
};

function shape(
  name: keyof typeof EVENTS,
  result: ProxyResult,
  extra: Record<string, string> = {},
): ProxyResult {
  return toGatewayResult(EVENTS[name], getSource(EVENTS[name]), result, extra);
}

const RESULT: ProxyResult = {
  statusCode: 200,
  headers: { A: "1", N: 2, B: true },
  multiValueHeaders: { Link: ["x", "y"] },
  cookies: ["a=1", "b=2"],
  body: "ok",
};
const H = { A: "1", N: 2, B: true };

/** One answer in the shape of each source, by AWS' documentation of the four integrations. */
const SHAPES: Record<keyof typeof EVENTS, ProxyResult> = {
  rest: {
    statusCode: 200,
    headers: { ...H, Link: "x, y" },
    multiValueHeaders: { "Set-Cookie": ["a=1", "b=2"] },
    body: "ok",
  },
  http: { statusCode: 200, headers: { ...H, Link: "x, y" }, cookies: ["a=1", "b=2"], body: "ok" },
  functionUrl: {
    statusCode: 200,
    headers: { ...H, Link: "x, y" },
    cookies: ["a=1", "b=2"],
    body: "ok",
  },
  alb: {
    statusCode: 200,
    headers: { ...H, Link: "x, y", "set-cookie": "a=1", "Set-cookie": "b=2" },
    body: "ok",
  },
  albAll: {
    statusCode: 200,
    multiValueHeaders: {
      Link: ["x, y"],
      "Set-Cookie": ["a=1", "b=2"],
      A: ["1"],
      N: [2],
      B: [true],
    },
    body: "ok",
  },
};

for (const name of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) {
  Deno.test(`toGatewayResult() gives what ${name} wants, with cookies and several values`, () => {
    assertEquals(shape(name, RESULT), SHAPES[name]);
  });

  Deno.test(`toGatewayResult() leaves a simple result simple for ${name}`, () => {
    const expected = name === "albAll"
      ? { statusCode: 204, body: "", multiValueHeaders: {} }
      : { statusCode: 204, headers: {}, body: "" };
    assertEquals<unknown>(shape(name, { statusCode: 204, body: "" }), expected);
    assertEquals<unknown>(shape(name, { statusCode: 204 } as ProxyResult), expected);
  });

  Deno.test(`toGatewayResult() keeps each of 30 cookies for ${name}`, () => {
    const cookies = Array.from({ length: 30 }, (_, i) => `c${i}=${i}`);
    const { headers = {}, multiValueHeaders = {}, cookies: list = [] } = shape(name, {
      statusCode: 200,
      cookies,
      body: "",
    });
    const sent = [
      ...list,
      ...Object.entries(multiValueHeaders).flatMap(([key, values]) =>
        key.toLowerCase() === "set-cookie" ? values : []
      ),
      ...Object.entries(headers).flatMap(([key, value]) =>
        key.toLowerCase() === "set-cookie" ? [value] : []
      ),
    ];
    assertEquals(sent, cookies);
  });

  Deno.test(`toGatewayResult() keeps a cookie that stands in headers beside others for ${name}`, () => {
    const result = {
      statusCode: 200,
      headers: { "set-cookie": "h=1" },
      cookies: ["c=1"],
      body: "",
    };
    const text = JSON.stringify(shape(name, result));
    assertEquals([text.split("h=1").length, text.split("c=1").length], [2, 2]);
  });

  Deno.test(`toGatewayResult() treats several values of a header like one for ${name}`, () => {
    const result = {
      statusCode: 200,
      headers: { Link: "a" },
      multiValueHeaders: { vary: ["Accept"], "cache-control": ["private"], LINK: ["a", "b"] },
      body: "",
    };
    const extra = { Vary: "Origin", "Cache-Control": "no-store" };
    const { headers, multiValueHeaders } = shape(name, result, extra);
    const all = Object.entries(headers ?? multiValueHeaders!).map((
      [key, value],
    ) => [key.toLowerCase(), String(value)]);
    assertEquals(Object.fromEntries(all), {
      link: "a, b",
      vary: "Accept, Origin",
      "cache-control": "private",
    });
    assertEquals(all.length, 3);
  });

  Deno.test(`toGatewayResult() takes line breaks out of header values for ${name}`, () => {
    const bad = "x\r\nSet-Cookie: forged=1\0\n";
    const result = {
      statusCode: 200,
      headers: { A: bad },
      multiValueHeaders: { B: [bad] },
      cookies: [bad],
      body: "",
    };
    const text = JSON.stringify(shape(name, result, { C: bad }));
    assertEquals(/\\r|\\n|\\u0000/.test(text), false, text);
    assertEquals(text.includes("x Set-Cookie: forged=1"), true);
  });
}

Deno.test("toGatewayResult() adds headers, and leaves the handler's own of the same name in any case", () => {
  const { headers } = shape("rest", {
    statusCode: 200,
    headers: { "x-frame-options": "DENY" },
    body: "",
  }, {
    "X-Frame-Options": "SAMEORIGIN",
    "Access-Control-Allow-Origin": "*",
  });
  assertEquals(headers, { "x-frame-options": "DENY", "Access-Control-Allow-Origin": "*" });
});

Deno.test("toGatewayResult() answers with the request's correlation id, also when the handler passes another answer on", () => {
  for (const name of ["x-correlation-id", "X-Correlation-Id", "X-CORRELATION-ID"]) {
    for (const source of ["rest", "http", "alb"] as const) {
      for (
        const given of [{ headers: { [name]: "other" } }, {
          multiValueHeaders: { [name]: ["other", "third"] },
        }]
      ) {
        const { headers, multiValueHeaders } = shape(source, {
          statusCode: 200,
          ...given,
          body: "",
        }, {
          "X-Correlation-Id": "own",
        });
        const all = Object.entries({ ...headers, ...multiValueHeaders })
          .filter(([key]) => key.toLowerCase() === "x-correlation-id").flatMap(([, value]) =>
            value
          );
        assertEquals(all, ["own"]);
      }
    }
  }
});

Deno.test("toGatewayResult() adds to the handler's Vary instead of losing one", () => {
  const vary = (own: Record<string, string>): unknown =>
    shape("rest", { statusCode: 200, headers: own, body: "" }, { Vary: "Origin" }).headers;
  assertEquals(vary({}), { Vary: "Origin" });
  assertEquals(vary({ Vary: "Accept-Encoding" }), { Vary: "Accept-Encoding, Origin" });
  assertEquals(vary({ vary: "Accept" }), { vary: "Accept, Origin" });
  assertEquals(vary({ Vary: "accept, origin" }), { Vary: "accept, origin" });
  assertEquals(vary({ Vary: "*" }), { Vary: "*" });
});

Deno.test("toGatewayResult() passes base64 on", () => {
  const result = { statusCode: 200, body: "AAE=", isBase64Encoded: true };
  for (const name of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) {
    assertEquals(shape(name, result).isBase64Encoded, true);
  }
});

Deno.test("toGatewayResult() leaves out the body of a status that has none", () => {
  for (const statusCode of [103, 204, 205, 304]) {
    const { body, isBase64Encoded } = shape("http", {
      statusCode,
      body: "AAE=",
      isBase64Encoded: true,
    });
    assertEquals([body, isBase64Encoded], ["", undefined]);
  }
});

Deno.test("toGatewayResult() changes nothing of what the handler returned", () => {
  const result = structuredClone(RESULT);
  for (const name of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) {
    shape(name, result, { X: "1" });
  }
  assertEquals(result, RESULT);
});

const NO_RESULTS: unknown[] = [
  undefined,
  null,
  "ok",
  200,
  [],
  {},
  { body: "ok" },
  { statusCode: "200", body: "" },
  { statusCode: 99, body: "" },
  { statusCode: 600, body: "" },
  { statusCode: 200.5, body: "" },
  { statusCode: 200, body: { ok: true } },
  { statusCode: 200, body: 7 },
  new Response("ok"),
];

Deno.test("toGatewayResult() refuses what is no proxy result and says what to return", () => {
  for (const result of NO_RESULTS) {
    assertThrows(
      () => shape("rest", result as ProxyResult),
      UnexpectedError,
      "buildValidatedResponse",
    );
  }
});
