import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ResponseWriter } from "../../core/http/streaming.ts";
import { pump } from "../../streaming/pump.ts";

const MEGABYTE = 2 ** 20;

Deno.test("pump() keeps no part in memory that was written", async () => {
  let written = 0;
  let mostBytes = 0;
  const writer: ResponseWriter = {
    write(part): void {
      written += part.length;
      mostBytes = Math.max(mostBytes, Deno.memoryUsage().external - before);
    },
    end() {},
    on() {},
  };
  async function* listParts(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 400; i++) yield await Promise.resolve(new Uint8Array(MEGABYTE));
  }
  const before = Deno.memoryUsage().external;
  await pump(writer, listParts(), new AbortController().signal);
  assertEquals(written, 400 * MEGABYTE);
  assert(mostBytes < 300 * MEGABYTE, `${mostBytes / MEGABYTE} MB`);
});

Deno.test("pump() ends when the signal is aborted while the source or the client is idle", async () => {
  const idle = new Promise<never>(() => {});
  async function* listParts(): AsyncGenerator<string> {
    yield "a";
    yield await idle;
  }
  for (const isReady of [true, false]) {
    const controller = new AbortController();
    const parts: unknown[] = [];
    const writer: ResponseWriter = {
      write: (part) => (parts.push(part), queueMicrotask(() => controller.abort()), isReady),
      end() {},
      on() {},
    };
    await pump(writer, listParts(), controller.signal);
    assertEquals(parts, ["a"]);
  }
});

Deno.test("pump() rejects with the error of the source", async () => {
  async function* fail(): AsyncGenerator<string> {
    yield await Promise.reject(new RangeError("no rows"));
  }
  const writer: ResponseWriter = { write() {}, end() {}, on() {} };
  await assertRejects(
    () => pump(writer, fail(), new AbortController().signal),
    RangeError,
    "no rows",
  );
});
