import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  currentInvocation,
  enterInvocation,
  resumeInvocation,
} from "../../observability/invocation_context.ts";
import {
  logInfo,
  metrics,
  MetricUnit,
  runOutsideInvocation,
  setLogOutput,
} from "../../observability/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { createInvocation } from "../support/invocation.ts";

Deno.test("enterInvocation() makes the invocation current below it and nowhere else", async () => {
  const invocation = createInvocation();
  assertEquals(currentInvocation(), undefined);
  const result = await enterInvocation(
    invocation,
    async (current) => {
      assertEquals(currentInvocation(), invocation);
      await Promise.resolve();
      assertEquals(currentInvocation(), invocation);
      return current === invocation;
    },
  );
  assertEquals(result, true);
  assertEquals(currentInvocation(), undefined);
});

Deno.test("enterInvocation() writes everything in one write when the work ends", async () => {
  const { writes, lines } = await captureLogs(() =>
    enterInvocation(createInvocation(), async () => {
      for (let i = 0; i < 10; i++) logInfo(`line ${i}`);
      await Promise.resolve();
      metrics.addMetric("Notes", MetricUnit.Count, 1);
    })
  );
  assertEquals([writes.length, lines.length], [1, 11]);
});

Deno.test("enterInvocation() writes also when the work throws", async () => {
  const { writes } = await captureLogs(() =>
    assertRejects(
      () =>
        enterInvocation(createInvocation(), () => {
          logInfo("before");
          throw new TypeError("broken");
        }),
      TypeError,
      "broken",
    )
  );
  assertEquals(writes.length, 1);
});

Deno.test("enterInvocation() writes nothing for work that logs nothing", async () => {
  assertEquals((await captureLogs(() => enterInvocation(createInvocation(), () => 1))).writes, []);
});

Deno.test("enterInvocation() writes in between when an invocation logs very much", async () => {
  const { writes, lines } = await captureLogs(() =>
    enterInvocation(createInvocation(), () => {
      for (let i = 0; i < 100; i++) logInfo("x".repeat(2000));
    })
  );
  assert(writes.length > 1 && writes.length < 10, String(writes.length));
  assertEquals(lines.length, 100);
});

Deno.test("enterInvocation() keeps nested and interleaved invocations apart", async () => {
  const { lines } = await captureLogs(() =>
    Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        enterInvocation(createInvocation({ correlationId: `c${i}` }), async () => {
          for (let turn = 0; turn < i % 7; turn++) {
            await Promise.resolve();
          }
          await enterInvocation(createInvocation({ correlationId: `inner${i}` }), () =>
            logInfo("inner", { i }));
          logInfo("outer", { i });
        })),
    )
  );
  assertEquals(lines.length, 200);
  for (const line of lines) {
    assertEquals(line.correlation_id, `${line.message === "inner" ? "inner" : "c"}${line.i}`);
  }
});

Deno.test("what an invocation logs and measures after its end is written at once, under its own ids", async () => {
  const writes: string[] = [];
  const restore = setLogOutput((text) => writes.push(text));
  try {
    let goOn = (): void => {};
    const gate = new Promise<void>((resolve) => goOn = resolve);
    let late: Promise<void> | undefined;
    await enterInvocation(createInvocation({ correlationId: "first" }), () => {
      logInfo("in time");
      late = gate.then(() => {
        logInfo("late");
        metrics.addMetric("Late", MetricUnit.Count, 1);
      });
    });
    assertEquals(writes.length, 1);
    goOn();
    await late;
    assertEquals(writes.length, 3);
    assertEquals(JSON.parse(writes[1]).correlation_id, "first");
    assertEquals(JSON.parse(writes[2]).Late, 1);
  } finally {
    restore();
  }
});

async function runProgram(
  body: string,
  env: Record<string, string> = {},
): Promise<{ code: number; lines: Record<string, unknown>[] }> {
  const importable = (file: string): string =>
    JSON.stringify(new URL(`../../observability/${file}.ts`, import.meta.url).href);
  const program = `
    import process from "node:process";
    import { Invocation } from ${importable("invocation")};
    import { enterInvocation } from ${importable("invocation_context")};
    import { logInfo } from ${importable("logger")};
    import { metrics } from ${importable("metrics")};
    const invocation = new Invocation({ correlationId: "c", requestId: "r", operationName: "o", coldStart: true });
    ${body}`;
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", "--ext=ts", "--no-check", program],
    cwd: new URL("../..", import.meta.url),
    stderr: "null",
    env,
  }).output();
  const text = new TextDecoder().decode(stdout);
  return { code, lines: text.split("\n").filter(Boolean).map((line) => JSON.parse(line)) };
}

for (
  const [where, env] of [["beside others", {}], ["alone", {
    AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
  }]] as const
) {
  Deno.test(`invocations that are open when the process exits are written, running ${where}`, async () => {
    const { code, lines } = await runProgram(
      `
      await enterInvocation(invocation, async () => {
        logInfo("before the end");
        metrics.addMetric("Notes", "Count", 1);
        const inner = new Invocation({ correlationId: "inner", requestId: "r", operationName: "o", coldStart: false });
        await enterInvocation(inner, async () => {
          await Promise.resolve();
          logInfo("inside");
          process.exit(3);
        });
      });`,
      env,
    );
    assertEquals(code, 3);
    assertEquals(lines.map((line) => String(line.message ?? line.Notes)).sort(), [
      "1",
      "before the end",
      "inside",
    ]);
  });
}

Deno.test("enterInvocation() ends at once where the work waits for nothing, and rejects where it throws at once", async () => {
  const { writes } = await captureLogs(async () => {
    const result = enterInvocation(createInvocation(), () => logInfo("now"));
    assertEquals(result instanceof Promise, true);
    await assertRejects(() =>
      enterInvocation(createInvocation(), () => {
        throw new TypeError("at once");
      }), TypeError);
    await result;
  });
  assertEquals(writes.length, 1);
});

Deno.test("enterInvocation() waits for what is no promise but can be awaited, such as a query", async () => {
  const query = {
    then: (resolve: (value: number) => void) => void setTimeout(() => resolve(7), 1),
  };
  assertEquals(
    await enterInvocation(createInvocation(), () => query as unknown as Promise<number>),
    7,
  );
});

Deno.test("runOutsideInvocation() leaves the invocation, also for what begins there, and comes back to it", async () => {
  const seen: unknown[] = [];
  await enterInvocation(createInvocation({ correlationId: "inside" }), async () => {
    const timer = runOutsideInvocation(() => {
      seen.push(currentInvocation());
      return new Promise<void>((resolve) =>
        setTimeout(() => resolve(void seen.push(currentInvocation())), 1)
      );
    });
    seen.push(currentInvocation()?.correlationId);
    await timer;
    seen.push(currentInvocation()?.correlationId);
    await assertRejects(
      () => runOutsideInvocation(() => Promise.reject(new TypeError("as it was thrown"))),
      TypeError,
    );
    seen.push(currentInvocation()?.correlationId);
  });
  assertEquals(seen, [undefined, "inside", undefined, "inside", "inside"]);
  assertEquals(runOutsideInvocation(() => 1), 1);
});

Deno.test("resumeInvocation() runs as part of an invocation from anywhere", async () => {
  const first = createInvocation({ correlationId: "first" }),
    second = createInvocation({ correlationId: "second" });
  await enterInvocation(first, () =>
    enterInvocation(second, () => {
      assertEquals(resumeInvocation(first, currentInvocation), first);
      assertEquals(resumeInvocation(second, currentInvocation), second);
      assertEquals(currentInvocation(), second);
    }));
  assertEquals(resumeInvocation(first, currentInvocation), first);
  assertEquals(currentInvocation(), undefined);
});

Deno.test("expire() notifies each waiter once, and aborts the requested signal", () => {
  const invocation = createInvocation();
  const told: string[] = [];
  invocation.onDeadline(() => told.push("first"));
  const forget = invocation.onDeadline(() => told.push("forgotten"));
  forget();
  forget();
  // a callback may take another one back, or its own
  const forgetLast: () => void = invocation.onDeadline(() => (forgetLast(), told.push("last")));
  invocation.abort = new AbortController();
  invocation.expire();
  invocation.expire();
  assertEquals([told, invocation.abort.signal.aborted], [["first", "last"], true]);
  createInvocation().expire();
});
