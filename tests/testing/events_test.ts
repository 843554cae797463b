import { assertEquals } from "@std/assert";
import { isAlbEvent, isHttpApiEvent } from "../../core/http/api_event.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";

const OPTIONS: EventOptions = {
  method: "PUT",
  path: "/notes/n1",
  resource: "/notes/{noteId}",
  headers: { "X-One": "1", "X-Many": ["a", "b"], Cookie: "a=1; b=2" },
  query: { one: "1 é", many: ["x", "y&z"] },
  pathParameters: { noteId: "n1" },
  body: { title: "milk" },
  authorizer: { userId: "u1" },
  requestId: "g-1",
};
const BODY = '{"title":"milk"}';

Deno.test("createRestApiEvent() is an event as a REST API sends it", () => {
  const event = createRestApiEvent(OPTIONS);
  assertEquals([event.httpMethod, event.path, event.resource], [
    "PUT",
    "/notes/n1",
    "/notes/{noteId}",
  ]);
  assertEquals(event.headers, {
    "X-One": "1",
    "X-Many": "b",
    Cookie: "a=1; b=2",
    "Content-Type": "application/json",
  });
  assertEquals(event.multiValueHeaders?.["X-Many"], ["a", "b"]);
  assertEquals(event.queryStringParameters, { one: "1 é", many: "y&z" });
  assertEquals(event.multiValueQueryStringParameters, { one: ["1 é"], many: ["x", "y&z"] });
  assertEquals([event.pathParameters, event.requestContext.authorizer], [{ noteId: "n1" }, {
    userId: "u1",
  }]);
  assertEquals([event.requestContext.requestId, event.body, event.isBase64Encoded], [
    "g-1",
    BODY,
    false,
  ]);
});

Deno.test("createRestApiEvent() has null where a REST API has null", () => {
  const event = createRestApiEvent();
  assertEquals([event.httpMethod, event.path, event.resource, event.headers], [
    "GET",
    "/",
    "/",
    {},
  ]);
  assertEquals(
    [
      event.queryStringParameters,
      event.multiValueQueryStringParameters,
      event.pathParameters,
      event.body,
    ],
    [null, null, null, null],
  );
  assertEquals("authorizer" in event.requestContext, false);
});

Deno.test("createHttpApiEvent() is an event in payload format 2.0", () => {
  const event = createHttpApiEvent(OPTIONS);
  assertEquals([event.version, event.routeKey, event.rawPath], [
    "2.0",
    "PUT /notes/{noteId}",
    "/notes/n1",
  ]);
  assertEquals(event.headers, {
    "x-one": "1",
    "x-many": "a,b",
    "content-type": "application/json",
  });
  assertEquals(event.cookies, ["a=1", "b=2"]);
  assertEquals(event.rawQueryString, "one=1+%C3%A9&many=x&many=y%26z");
  assertEquals(event.queryStringParameters, { one: "1 é", many: "x,y&z" });
  assertEquals([event.pathParameters, event.requestContext.authorizer], [{ noteId: "n1" }, {
    lambda: { userId: "u1" },
  }]);
  assertEquals([event.requestContext.http.method, event.requestContext.requestId], ["PUT", "g-1"]);
  assertEquals([event.body, event.isBase64Encoded, isHttpApiEvent(event)], [BODY, false, true]);
});

Deno.test("createHttpApiEvent() keeps the cookies of each header apart", () => {
  const { cookies } = createHttpApiEvent({ headers: { Cookie: ["a=1; b=2", "c=3"] } });
  assertEquals(cookies, ["a=1", "b=2", "c=3"]);
});

Deno.test("createHttpApiEvent() leaves out what an HTTP API leaves out", () => {
  const event = createHttpApiEvent();
  for (const key of ["cookies", "queryStringParameters", "pathParameters", "body"]) {
    assertEquals(key in event, false, key);
  }
  assertEquals([event.rawQueryString, "authorizer" in event.requestContext], ["", false]);
});

Deno.test("createFunctionUrlEvent() is an event of the route $default", () => {
  assertEquals(createFunctionUrlEvent(OPTIONS), {
    ...createHttpApiEvent(OPTIONS),
    routeKey: "$default",
  });
});

Deno.test("createAlbEvent() sends either last or all values, its query still encoded", () => {
  const single = createAlbEvent(OPTIONS), all = createAlbEvent({ ...OPTIONS, multiValue: true });
  assertEquals([isAlbEvent(single), single.httpMethod, single.body], [true, "PUT", BODY]);
  assertEquals(single.headers?.["x-many"], "b");
  assertEquals(single.queryStringParameters, { one: "1+%C3%A9", many: "y%26z" });
  assertEquals([single.multiValueHeaders, single.multiValueQueryStringParameters], [
    undefined,
    undefined,
  ]);
  assertEquals(all.multiValueHeaders?.["x-many"], ["a", "b"]);
  assertEquals(all.multiValueQueryStringParameters, { one: ["1+%C3%A9"], many: ["x", "y%26z"] });
  assertEquals([all.headers, all.queryStringParameters], [undefined, undefined]);
  assertEquals(createAlbEvent().body, "");
});

Deno.test("a body is text as it is, bytes as base64, anything else JSON with its media type", () => {
  const cases: [body: unknown, text: string | null, base64: boolean, type: string | undefined][] = [
    [undefined, null, false, undefined],
    [null, null, false, undefined],
    ["text", "text", false, undefined],
    [new Uint8Array([0, 255]), "AP8=", true, undefined],
    [{ a: 1 }, '{"a":1}', false, "application/json"],
    [[1], "[1]", false, "application/json"],
    [7, "7", false, "application/json"],
    [false, "false", false, "application/json"],
  ];
  for (const [body, text, base64, type] of cases) {
    const event = createRestApiEvent({ body });
    assertEquals([event.body, event.isBase64Encoded, event.headers["Content-Type"]], [
      text,
      base64,
      type,
    ]);
  }
  const headers = { "content-type": "application/problem+json" };
  assertEquals(createRestApiEvent({ body: {}, headers }).headers, headers);
});
