import { assertEquals } from "@std/assert";
import type { FunctionFile } from "../../../cli/discovery/function_files.ts";
import type { FunctionStore } from "../../../cli/dev/functions/function_store.ts";
import { Invoker } from "../../../cli/dev/functions/invoker.ts";
import { createRecorder } from "../../../cli/dev/functions/recorder.ts";
import { startRelayTimer } from "../../../cli/dev/relay_timer.ts";
import { log } from "../../../observability/logger.ts";

const IDLE = { delivered: 0, removed: 0, oldestSeconds: 0, dead: 1 };

Deno.test("startRelayTimer() lists only calls of a relay that did something", async () => {
  const outcomes: (() => unknown)[] = [
    () => IDLE,
    () => ({ ...IDLE, delivered: 2 }),
    () => ({ ...IDLE, removed: 1 }),
    () => {
      log("ERROR", "a schedule could not be enqueued");
      return IDLE;
    },
    () => {
      throw new Error("the database is down");
    },
    () => IDLE,
  ];
  const relay = { name: "Relay", kind: "schedule" } as FunctionFile;
  const recorder = createRecorder();
  const shown: string[] = [];
  recorder.listen((event) => {
    if (event.type === "call" && !event.call.isRunning) shown.push(event.call.note ?? "");
  });
  let count = 0;
  let end = () => {};
  const allDone = new Promise<void>((resolve) => end = resolve);
  const store = {
    list: () => [relay],
    load: () =>
      Promise.resolve({
        isJobRelay: true,
        handler: () => {
          const outcome = outcomes[count++];
          if (outcome === undefined) return IDLE;
          if (count === outcomes.length) end();
          return outcome();
        },
      }),
  } as unknown as FunctionStore;
  const invoker = new Invoker({ store, recorder });
  const stop = startRelayTimer({
    store,
    invoker,
    database: undefined,
    track: () => {},
    scheduleMs: 0,
    lookMs: 5,
  });
  // the relay's own timer does not keep the process alive
  const alive = setInterval(() => {}, 1000);
  await allDone;
  clearInterval(alive);
  stop();
  await new Promise((resolve) => setTimeout(resolve, 0));
  recorder.stop();
  assertEquals(shown, ["done", "done", "done", "the database is down"]);
  assertEquals(recorder.calls.map(({ output }) => output).reverse(), [
    { ...IDLE, delivered: 2 },
    { ...IDLE, removed: 1 },
    IDLE,
    { error: "the database is down" },
  ]);
});
