import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { limitRequest } from "../../env/limit_request.ts";
import { ServiceUnavailableError } from "../../errors/mod.ts";

const service = "The test service";

Deno.test("limitRequest() sends nothing when the signal is aborted already", () => {
  let sent = 0;
  const signal = AbortSignal.abort(new RangeError("too late"));
  assertThrows(
    () => limitRequest({ service, limitMs: 1000, signal }, () => Promise.resolve(++sent)),
    RangeError,
    "too late",
  );
  assertEquals(sent, 0);
});

Deno.test("limitRequest() rejects with the reason of the signal, and aborts the request", async () => {
  const outer = new AbortController();
  let inner: AbortSignal | undefined;
  const request = limitRequest(
    { service, limitMs: 60_000, signal: outer.signal },
    (signal) => new Promise(() => inner = signal),
  );
  await Promise.resolve();
  outer.abort(new RangeError("cancelled"));
  await assertRejects(() => request, RangeError, "cancelled");
  assertEquals(inner?.aborted, true);
});

Deno.test("limitRequest() gives up after the limit, and leaves no timer behind", async () => {
  const silent = () => new Promise<never>(() => {});
  await assertRejects(
    () => limitRequest({ service, limitMs: 10 }, silent),
    ServiceUnavailableError,
    "The test service did not answer within 0.01 s",
  );
  const fails = () => {
    throw new RangeError("at once");
  };
  await assertRejects(() => limitRequest({ service, limitMs: 60_000 }, fails), RangeError);
});
