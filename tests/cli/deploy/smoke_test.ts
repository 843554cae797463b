import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { StepError } from "../../../cli/deploy/deployment.ts";
import { chooseSmokePath, sendSmokeRequest } from "../../../cli/deploy/smoke.ts";
import type { InfraFunction } from "../../../cli/infra/infra_plan.ts";

const HEALTH = [{ kind: "api", method: "GET", path: "/health" }] as unknown as InfraFunction[];

Deno.test("chooseSmokePath() prefers the setting, else the health route", () => {
  assertEquals(chooseSmokePath(undefined, HEALTH), "/health");
  assertEquals(chooseSmokePath("/ready", HEALTH), "/ready");
  assertEquals(chooseSmokePath(false, HEALTH), undefined);
  assertEquals(chooseSmokePath(undefined, []), undefined);
  assertThrows(() => chooseSmokePath("ready", HEALTH), Error, "must begin with a slash");
});

Deno.test("sendSmokeRequest() repeats a request that fails, and reports the last answer", async () => {
  const statuses = [500, 503, 200];
  let count = 0;
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      new Response('{ "status": "down", "database": "down", "key": "secret body" }', {
        status: statuses[Math.min(count++, statuses.length - 1)],
        headers: { "x-correlation-id": "c-1" },
      }),
  );
  const url = `http://127.0.0.1:${server.addr.port}/health`;
  try {
    const send = (canRollBack: boolean, isRolledBack = false) =>
      sendSmokeRequest(url, { stage: "dev", canRollBack, isRolledBack, pauseMs: 0 });
    assertEquals(await send(true), `GET ${url}: 200`);
    assertEquals(count, 3);
    statuses.splice(0, 3, 500);
    for (const canRollBack of [true, false]) {
      const error = await assertRejects(
        () => send(canRollBack),
        StepError,
        "500 (database is down, correlation id c-1)",
      );
      assertEquals(error.message.includes("secret body"), false);
      // --rollback refuses without gradual releases
      assertEquals(
        error.message.includes("go back with trellis deploy --stage dev --rollback"),
        canRollBack,
      );
    }
    const { message } = await assertRejects(() => send(true, true), StepError);
    assertEquals(message.includes("go back"), false, message);
  } finally {
    await server.shutdown();
  }
});
