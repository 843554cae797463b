import { assertEquals } from "@std/assert";
import {
  type ApiEvent,
  authorizerOf,
  hasQuery,
  headerOf,
  isAlbEvent,
  isHttpApiEvent,
  methodOf,
  pathOf,
  pathParametersOf,
  queryOf,
  queryStringOf,
  readRawBody,
  sourceOf,
} from "../../core/mod.ts";
import { createAlbEvent, createFunctionUrlEvent, createHttpApiEvent, createRestApiEvent } from "../../testing/mod.ts";

const OPTIONS = {
  method: "post",
  path: "/notes/n1",
  headers: { "X-One": "1", "X-Many": ["a", "b"] },
  query: { one: "1", many: ["a", "b"], "key é": "a b&c=d+é%" },
  body: "x",
};

const EVENTS: [string, ApiEvent][] = [
  ["REST API", createRestApiEvent(OPTIONS)],
  ["HTTP API", createHttpApiEvent(OPTIONS)],
  ["function URL", createFunctionUrlEvent(OPTIONS)],
  ["load balancer", createAlbEvent(OPTIONS)],
  ["load balancer with all values", createAlbEvent({ ...OPTIONS, multiValue: true })],
];

for (const [name, event] of EVENTS) {
  Deno.test(`methodOf(), pathOf() and headerOf() read an event of a ${name}`, () => {
    assertEquals([methodOf(event), pathOf(event)], ["POST", "/notes/n1"]);
    for (const spelling of ["X-One", "x-one", "X-ONE"]) assertEquals(headerOf(event, spelling), "1");
    assertEquals(headerOf(event, "X-None"), undefined);
  });

  Deno.test(`queryOf() reads an event of a ${name}`, () => {
    const lastOnly = name === "load balancer";
    assertEquals([...queryOf(event)], [
      ["one", ["1"]],
      ["many", lastOnly ? ["b"] : ["a", "b"]],
      ["key é", ["a b&c=d+é%"]],
    ]);
    assertEquals(hasQuery(event), true);
    const again = new URLSearchParams(queryStringOf(event));
    assertEquals([again.get("key é"), again.getAll("many")], ["a b&c=d+é%", lastOnly ? ["b"] : ["a", "b"]]);
  });
}

Deno.test("sourceOf() tells where an event comes from", () => {
  assertEquals(EVENTS.map(([, event]) => sourceOf(event)), ["rest", "http", "http", "alb", "alb"]);
  assertEquals(EVENTS.map(([, event]) => isHttpApiEvent(event)), [false, true, true, false, false]);
  assertEquals(EVENTS.map(([, event]) => isAlbEvent(event)), [false, false, false, true, true]);
});

Deno.test("headerOf() gives the last of several values where all are sent", () => {
  assertEquals(headerOf(EVENTS[0][1], "X-Many"), "b");
  assertEquals(headerOf(EVENTS[4][1], "X-Many"), "b");
});

Deno.test("queryOf() keeps what a load balancer's parameter holds when it is no percent-encoding", () => {
  const event = { ...createAlbEvent(), queryStringParameters: { q: "100%", r: "%zz+a" } };
  assertEquals([...queryOf(event)], [["q", ["100%"]], ["r", ["%zz+a"]]]);
});

Deno.test("queryOf() and queryStringOf() give nothing for an event without a query", () => {
  const events = [createRestApiEvent(), createHttpApiEvent(), createAlbEvent(), createAlbEvent({ multiValue: true })];
  for (const event of events) assertEquals([[...queryOf(event)], queryStringOf(event)], [[], ""]);
  assertEquals([hasQuery(events[0]), hasQuery(events[1])], [false, false]);
});

Deno.test("queryOf() passes over parameters without a value", () => {
  const base = createRestApiEvent();
  const single = { ...base, queryStringParameters: { a: undefined, b: "1" } };
  const several = { ...base, multiValueQueryStringParameters: { a: undefined, b: ["1"] } };
  for (const event of [single, several]) assertEquals([...queryOf(event)], [["b", ["1"]]]);
});

Deno.test("queryOf() reads an HTTP API's raw query string, since its object joins values with commas", () => {
  const event = {
    ...createHttpApiEvent(),
    rawQueryString: "a=1,2&a=3&b",
    queryStringParameters: { a: "1,2,3", b: "" },
  };
  assertEquals([...queryOf(event)], [["a", ["1,2", "3"]], ["b", [""]]]);
});

Deno.test("pathParametersOf() is empty where there are none", () => {
  for (const [, event] of EVENTS) assertEquals(pathParametersOf(event), {});
  assertEquals(pathParametersOf(createHttpApiEvent({ pathParameters: { id: "1" } })), { id: "1" });
});

Deno.test("authorizerOf() finds what the authorizer said, one level deeper in an HTTP API", () => {
  const authorizer = { userId: "u1" };
  assertEquals(authorizerOf(createRestApiEvent({ authorizer })), authorizer);
  assertEquals(authorizerOf(createHttpApiEvent({ authorizer })), authorizer);
  assertEquals(authorizerOf(createAlbEvent()), undefined);
  assertEquals(authorizerOf(createRestApiEvent()), undefined);
  const jwt = createHttpApiEvent();
  const event = { ...jwt, requestContext: { ...jwt.requestContext, authorizer: { jwt: { claims: {} } } } };
  assertEquals(authorizerOf(event), { jwt: { claims: {} } });
});

Deno.test("authorizerOf() does not take a REST authorizer's own key called lambda for the authorizer", () => {
  const authorizer = { lambda: { userId: "forged" }, userId: "u1" };
  assertEquals(authorizerOf(createRestApiEvent({ authorizer })), authorizer);
});

Deno.test("readRawBody() gives the bytes as they were sent", () => {
  const bytes = new Uint8Array([0, 255, 0xC3, 0xA9]);
  assertEquals([...readRawBody(createRestApiEvent({ body: bytes }))], [...bytes]);
  assertEquals([...readRawBody(createHttpApiEvent({ body: "é" }))], [0xC3, 0xA9]);
  assertEquals(readRawBody(createRestApiEvent()).length, 0);
});
