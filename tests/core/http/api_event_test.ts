import { assertEquals } from "@std/assert";
import {
  getAuthorizer,
  getHeaders,
  getMethod,
  getPath,
  getPathParameters,
  getQuery,
  getQueryString,
  getSource,
  hasQuery,
  isAlbEvent,
  isHttpApiEvent,
} from "../../../core/http/api_event.ts";
import { readCookieHeader } from "../../../core/http/cookies.ts";
import { type ApiEvent, getHeader, readRawBody } from "../../../core/mod.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createRestApiEvent,
} from "../../../testing/mod.ts";

const OPTIONS = {
  method: "post",
  path: "/notes/n1",
  headers: { "X-One": "1", "X-Many": ["a", "b"] },
  query: { one: "1", many: ["a", "b"], "key é": "a b&c=d+é%" },
  body: "x",
};

Deno.test("an event with an empty member for several values has those of the other one", () => {
  const event = {
    ...createRestApiEvent({ headers: { "X-A": "1", Cookie: "a=1" }, query: { b: "2" } }),
    multiValueHeaders: {},
    multiValueQueryStringParameters: {},
  };
  assertEquals(getHeader(event, "X-A"), "1");
  assertEquals(getHeaders(event), { "x-a": "1", cookie: "a=1" });
  assertEquals(readCookieHeader(event), "a=1");
  assertEquals([...getQuery(event)], [["b", ["2"]]]);
  assertEquals(hasQuery(event), true);
});

const EVENTS: [string, ApiEvent][] = [
  ["REST API", createRestApiEvent(OPTIONS)],
  ["HTTP API", createHttpApiEvent(OPTIONS)],
  ["function URL", createFunctionUrlEvent(OPTIONS)],
  ["load balancer", createAlbEvent(OPTIONS)],
  ["load balancer with all values", createAlbEvent({ ...OPTIONS, multiValue: true })],
];

for (const [name, event] of EVENTS) {
  Deno.test(`getMethod(), getPath() and getHeader() read an event of a ${name}`, () => {
    assertEquals([getMethod(event), getPath(event)], ["POST", "/notes/n1"]);
    for (const spelling of ["X-One", "x-one", "X-ONE"]) {
      assertEquals(getHeader(event, spelling), "1");
    }
    assertEquals(getHeader(event, "X-None"), undefined);
  });

  Deno.test(`getQuery() reads an event of a ${name}`, () => {
    const lastOnly = name === "load balancer";
    assertEquals([...getQuery(event)], [
      ["one", ["1"]],
      ["many", lastOnly ? ["b"] : ["a", "b"]],
      ["key é", ["a b&c=d+é%"]],
    ]);
    assertEquals(hasQuery(event), true);
    const again = new URLSearchParams(getQueryString(event));
    assertEquals([again.get("key é"), again.getAll("many")], [
      "a b&c=d+é%",
      lastOnly ? ["b"] : ["a", "b"],
    ]);
  });
}

Deno.test("getSource() returns the source of an event", () => {
  assertEquals(EVENTS.map(([, event]) => getSource(event)), ["rest", "http", "http", "alb", "alb"]);
  assertEquals(EVENTS.map(([, event]) => isHttpApiEvent(event)), [false, true, true, false, false]);
  assertEquals(EVENTS.map(([, event]) => isAlbEvent(event)), [false, false, false, true, true]);
});

Deno.test("getHeader() gives the last of several values where all are sent", () => {
  assertEquals(getHeader(EVENTS[0][1], "X-Many"), "b");
  assertEquals(getHeader(EVENTS[4][1], "X-Many"), "b");
});

Deno.test("getQuery() keeps what a load balancer's parameter holds when it is no percent-encoding", () => {
  const event = { ...createAlbEvent(), queryStringParameters: { q: "100%", r: "%zz+a" } };
  assertEquals([...getQuery(event)], [["q", ["100%"]], ["r", ["%zz+a"]]]);
});

Deno.test("getQuery() and getQueryString() give nothing for an event without a query", () => {
  const events = [
    createRestApiEvent(),
    createHttpApiEvent(),
    createAlbEvent(),
    createAlbEvent({ multiValue: true }),
  ];
  for (const event of events) assertEquals([[...getQuery(event)], getQueryString(event)], [[], ""]);
  assertEquals([hasQuery(events[0]), hasQuery(events[1])], [false, false]);
});

Deno.test("getQuery() passes over parameters without a value", () => {
  const base = createRestApiEvent();
  const single = { ...base, queryStringParameters: { a: undefined, b: "1" } };
  const several = { ...base, multiValueQueryStringParameters: { a: undefined, b: ["1"] } };
  for (const event of [single, several]) assertEquals([...getQuery(event)], [["b", ["1"]]]);
});

Deno.test("getQuery() reads an HTTP API's raw query string, since its object joins values with commas", () => {
  const event = {
    ...createHttpApiEvent(),
    rawQueryString: "a=1,2&a=3&b",
    queryStringParameters: { a: "1,2,3", b: "" },
  };
  assertEquals([...getQuery(event)], [["a", ["1,2", "3"]], ["b", [""]]]);
});

Deno.test("getPathParameters() is empty where there are none", () => {
  for (const [, event] of EVENTS) assertEquals(getPathParameters(event), {});
  assertEquals(getPathParameters(createHttpApiEvent({ pathParameters: { id: "1" } })), { id: "1" });
});

Deno.test("getAuthorizer() finds what the authorizer said, one level deeper in an HTTP API", () => {
  const authorizer = { userId: "u1" };
  assertEquals(getAuthorizer(createRestApiEvent({ authorizer })), authorizer);
  assertEquals(getAuthorizer(createHttpApiEvent({ authorizer })), authorizer);
  assertEquals(getAuthorizer(createAlbEvent()), undefined);
  assertEquals(getAuthorizer(createRestApiEvent()), undefined);
  const jwt = createHttpApiEvent();
  const event = {
    ...jwt,
    requestContext: { ...jwt.requestContext, authorizer: { jwt: { claims: {} } } },
  };
  assertEquals(getAuthorizer(event), { jwt: { claims: {} } });
});

Deno.test("getAuthorizer() does not take a REST authorizer's own key called lambda for the authorizer", () => {
  const authorizer = { lambda: { userId: "forged" }, userId: "u1" };
  assertEquals(getAuthorizer(createRestApiEvent({ authorizer })), authorizer);
});

Deno.test("readRawBody() gives the bytes as they were sent", () => {
  const bytes = new Uint8Array([0, 255, 0xC3, 0xA9]);
  assertEquals([...readRawBody(createRestApiEvent({ body: bytes }))], [...bytes]);
  assertEquals([...readRawBody(createHttpApiEvent({ body: "é" }))], [0xC3, 0xA9]);
  assertEquals(readRawBody(createRestApiEvent()).length, 0);
});
