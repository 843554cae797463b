import { assertEquals, assertMatch } from "@std/assert";
import { getCorrelationId } from "../../../core/http/correlation_id.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../../testing/mod.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const context = createLambdaContext({ awsRequestId: "lambda-id" });

const CASES: [headers: EventOptions["headers"], id: string][] = [
  [{ "X-Correlation-Id": "c-1", "X-Request-Id": "r-1" }, "c-1"],
  [{ "x-correlation-id": "c-1" }, "c-1"],
  [{ "X-Request-Id": "r-1" }, "r-1"],
  [{}, "gateway-request-id"],
  [{ "X-Correlation-Id": "A.z_0:9-" }, "A.z_0:9-"],
  [{ "X-Correlation-Id": "x".repeat(128) }, "x".repeat(128)],
  [{ "X-Correlation-Id": "x".repeat(129), "X-Request-Id": "r-1" }, "r-1"],
  [{ "X-Correlation-Id": "", "X-Request-Id": "r-1" }, "r-1"],
  [{ "X-Correlation-Id": "a b", "X-Request-Id": "é" }, "gateway-request-id"],
  [{ "X-Correlation-Id": "a\nb" }, "gateway-request-id"],
  [{ "X-Correlation-Id": "c-1\n" }, "gateway-request-id"],
  [{ "X-Correlation-Id": "<script>" }, "gateway-request-id"],
  [
    { "X-Correlation-Id": "c0ffee00-1111-4222-8333-444444444444" },
    "c0ffee00-1111-4222-8333-444444444444",
  ],
  [
    { "X-Correlation-Id": "C0FFEE00-1111-4222-8333-444444444444" },
    "C0FFEE00-1111-4222-8333-444444444444",
  ],
  [{ "X-Correlation-Id": "c0ffee00-1111-4222-8333-444444444444\n" }, "gateway-request-id"],
  [{ "X-Correlation-Id": "c0ffee00-1111-4222-8333-44444444444 " }, "gateway-request-id"],
];

for (const [headers, id] of CASES) {
  Deno.test(`getCorrelationId() is ${id.slice(0, 20)} for ${JSON.stringify(headers).slice(0, 60)}`, () => {
    assertEquals(getCorrelationId(createRestApiEvent({ headers }), context), id);
    assertEquals(getCorrelationId(createHttpApiEvent({ headers }), context), id);
  });
}

Deno.test("getCorrelationId() reads headers that only multiValueHeaders has", () => {
  const event = createAlbEvent({ headers: { "X-Correlation-Id": "c-1" }, multiValue: true });
  assertEquals(getCorrelationId(event, context), "c-1");
  assertEquals(getCorrelationId({ ...event, headers: {} }, context), "c-1");
});

Deno.test("getCorrelationId() takes Lambda's id where the gateway gives none that is well formed, else a new one", () => {
  for (const requestId of ["", "a b", "x".repeat(129)]) {
    assertEquals(getCorrelationId(createRestApiEvent({ requestId }), context), "lambda-id");
  }
  assertEquals(getCorrelationId(createAlbEvent(), context), "lambda-id");
  for (const event of [null, undefined, "text", 7, [], {}]) {
    assertEquals(getCorrelationId(event, context), "lambda-id");
  }
  assertMatch(getCorrelationId({}, createLambdaContext({ awsRequestId: "not well formed" })), UUID);
  assertMatch(getCorrelationId({}, undefined), UUID);
});
