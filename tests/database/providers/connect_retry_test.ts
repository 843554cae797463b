import { assert, assertEquals, assertGreaterOrEqual, assertLess, assertThrows } from "@std/assert";
import { createConnectRetry } from "../../../database/providers/connect_retry.ts";
import { ServiceUnavailableError } from "../../../errors/mod.ts";
import { enterInvocation } from "../../../observability/invocation_context.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { createInvocation } from "../../support/invocation.ts";

const config = { provider: "distsql", instrument: false } as const;

function withCode(code: string): Error {
  return new Error("refused", { cause: Object.assign(new Error("x"), { code }) });
}

function inInvocation<T>(work: () => T, remaining?: number): Promise<T> {
  const invocation = createInvocation();
  if (remaining !== undefined) invocation.deadlineMs = performance.now() + remaining;
  return enterInvocation(invocation, () => work());
}

Deno.test("createConnectRetry() tries refusals again that pass, and no other failure", async () => {
  const retry = createConnectRetry(config);
  const cases: [code: string, outside: boolean, inside: boolean][] = [
    ["53300", true, true],
    ["53400", true, true],
    ["57P03", true, true],
    // a wrong address is a mistake of a script, which is told at once
    ["ECONNREFUSED", false, true],
    ["EHOSTUNREACH", false, true],
    // a statement may have been sent
    ["ECONNRESET", false, false],
    ["CONNECTION_CLOSED", false, false],
    ["CONNECT_TIMEOUT", false, false],
    ["28000", false, false],
    ["28P01", false, false],
    ["3D000", false, false],
    ["ENOTFOUND", false, false],
    ["CONNECTION_DESTROYED", false, false],
    ["SELF_SIGNED_CERT_IN_CHAIN", false, false],
  ];
  for (const [code, outside, inside] of cases) {
    assertEquals(retry(withCode(code), 1, 0) !== undefined, outside, `${code} outside`);
    await inInvocation(() =>
      assertEquals(retry(withCode(code), 1, 0) !== undefined, inside, `${code} inside`)
    );
  }
  const waking = createConnectRetry(config, (error) => (error as Error).message === "refused");
  assert(waking(withCode("XX000"), 1, 0) !== undefined);
});

Deno.test("createConnectRetry() waits for a random part of a delay that doubles", () => {
  const retry = createConnectRetry(config, undefined, () => 0.5);
  assertEquals([1, 2, 3, 9].map((attempt) => retry(withCode("53300"), attempt, 0)), [
    50,
    100,
    200,
    1000,
  ]);
});

Deno.test("createConnectRetry() gives up at connectTimeout: with the error outside of an invocation, with 503 inside", async () => {
  const retry = createConnectRetry({ ...config, connectTimeout: 3 }, undefined, () => 0.5);
  const error = withCode("53300");
  assertEquals(retry(error, 6, 3000), undefined);
  await inInvocation(() => {
    const thrown = assertThrows(() => retry(error, 6, 3000), ServiceUnavailableError);
    assertEquals(thrown.message, "The database refused a connection 6 times in 3.0 s");
    assertEquals([thrown.statusCode, thrown.cause, thrown.headers], [503, error, {
      "Retry-After": "3",
    }]);
    // a network that refuses is given less time
    assertEquals(retry(withCode("ECONNREFUSED"), 10, 1000), 250);
    assertEquals(retry(withCode("ECONNREFUSED"), 10, 1700), 130);
    assertThrows(
      () => retry(withCode("ECONNREFUSED"), 10, 1900),
      ServiceUnavailableError,
      "10 times in 1.9 s",
    );
  });
});

Deno.test("createConnectRetry() leaves time to answer before the deadline of the invocation", async () => {
  const retry = createConnectRetry(config, undefined, () => 0.5);
  await inInvocation(() => {
    assertEquals(retry(withCode("53300"), 1, 0), 50);
    // another try of 500 ms would end behind the deadline
    assertThrows(
      () => retry(withCode("53300"), 1, 500),
      ServiceUnavailableError,
      "refused a connection once in 0.5 s",
    );
  }, 500);
});

Deno.test("createConnectRetry() spreads Retry-After over 1 to 5 seconds", async () => {
  const seen = new Set<number>();
  await inInvocation(() => {
    for (const random of [0, 0.3, 0.5, 0.7, 0.999]) {
      const retry = createConnectRetry(config, undefined, () => random);
      const { headers } = assertThrows(
        () => retry(withCode("53300"), 1, 20_000),
        ServiceUnavailableError,
      );
      seen.add(Number(headers?.["Retry-After"]));
    }
  });
  assertEquals([...seen].sort(), [1, 2, 3, 4, 5]);
});

Deno.test("createConnectRetry() counts each refusal unless instrument is false", async () => {
  const { lines } = await captureLogs(() => {
    createConnectRetry({ ...config, instrument: true })(withCode("53400"), 1, 0);
    createConnectRetry({ ...config, instrument: true })(withCode("28000"), 1, 0);
    createConnectRetry(config)(withCode("53400"), 1, 0);
  });
  assertEquals(lines.map((line) => [line.provider, line.DatabaseConnectionsRefused]), [[
    "distsql",
    1,
  ]]);
});

Deno.test("createConnectRetry() jitters with real randomness", () => {
  const retry = createConnectRetry(config);
  const delays = Array.from({ length: 200 }, () => retry(withCode("53300"), 5, 0) ?? -1);
  assertGreaterOrEqual(Math.min(...delays), 0);
  assertLess(Math.max(...delays), 1600);
  assert(new Set(delays.map((ms) => Math.floor(ms / 100))).size > 8);
});
