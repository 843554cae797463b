import { assert, assertEquals } from "@std/assert";
import { withObservability } from "../../core/mod.ts";
import { defineQueueHandler } from "../../triggers/mod.ts";
import {
  endSpan,
  logInfo,
  metrics,
  onSpanEnd,
  setLogOutput,
  startSpan,
} from "../../observability/mod.ts";
import { createLambdaContext, createQueueEvent, createRestApiEvent } from "../../testing/mod.ts";

/** Outputs that fail, each in its own way. */
const OUTPUTS: Record<string, (text: string) => void> = {
  "throws an error": () => {
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  },
  "throws nothing that is an error": () => {
    throw null;
  },
  // an asynchronous function fits the type of an output
  "rejects": (() => Promise.reject(new Error("the collector is away"))) as (text: string) => void,
};

for (const [how, output] of Object.entries(OUTPUTS)) {
  Deno.test(`a handler answers, and a queue keeps what it did, when the log output ${how}`, async () => {
    const restore = setLogOutput(output);
    try {
      const handler = withObservability(() => {
        logInfo("inside");
        metrics.addMetric("Inside", "Count", 1);
        return { statusCode: 200 };
      }, { operationName: "Answer" });
      assertEquals(await handler(createRestApiEvent(), createLambdaContext()), { statusCode: 200 });
      const failing = withObservability((): string => {
        throw new TypeError("the handler's own");
      }, { respondToError: (error) => (error as Error).message });
      assertEquals(await failing(createRestApiEvent(), createLambdaContext()), "the handler's own");

      for (const concurrency of [1, 3]) {
        const queue = defineQueueHandler({ concurrency })(({ record }) => {
          logInfo("x".repeat(70_000)); // more than is kept for the one write
          if (record.messageId === "m2") throw new Error("why");
        });
        const event = createQueueEvent(
          ["m1", "m2", "m3"].map((messageId) => ({ messageId, body: "{}" })),
        );
        assertEquals(await queue(event, createLambdaContext()), {
          batchItemFailures: [{ itemIdentifier: "m2" }],
        });
      }
      logInfo("outside of a handler");
      metrics.addMetric("Outside", "Count", 1);
      await new Promise((resolve) => setTimeout(resolve, 0)); // a rejection that nobody handles would fail the test
    } finally {
      restore();
    }
  });
}

Deno.test("a handler answers when a listener of spans, or the OpenTelemetry provider, fails", async () => {
  const api = Symbol.for("opentelemetry.js.api.1");
  const holder = globalThis as unknown as Record<symbol, unknown>;
  const fail = (): never => {
    throw new Error("the exporter is away");
  };
  const span = {
    spanContext: () => ({ traceId: "1", spanId: "2", traceFlags: 1 }),
    setAttribute: fail,
    end: fail,
  };
  const restore = setLogOutput(() => {});
  const remove = onSpanEnd(fail);
  try {
    for (const startOtel of [fail, () => span]) {
      holder[api] = { trace: { getTracer: () => ({ startSpan: startOtel }) } };
      const handler = withObservability(() => {
        const inner = startSpan("inner", { attributes: { a: 1 } });
        endSpan(inner);
        return inner.status;
      });
      assertEquals(await handler({}, createLambdaContext()), "ok");
    }
  } finally {
    delete holder[api];
    remove();
    restore();
  }
});

function importable(file: string): string {
  return JSON.stringify(new URL(`../../observability/${file}.ts`, import.meta.url).href);
}

/** Runs a program of Deno with standard output on a device that is always full, or on a pipe that nobody reads. */
async function runProgram(
  body: string,
  redirect: string,
): Promise<{ code: number; stderr: string }> {
  const program = `
    import { Invocation } from ${importable("invocation")};
    import { enterInvocation } from ${importable("invocation_context")};
    import { logInfo } from ${importable("logger")};
    const invocation = new Invocation({ correlationId: "c", requestId: "r", operationName: "o", coldStart: true });
    ${body}
    await new Promise((resolve) => setTimeout(resolve, 50));
    Deno.exit(7);`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, program);
    const command = `"${Deno.execPath()}" run -A --no-lock --no-check --quiet ${file} ${redirect}`;
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: ["-c", `(${command}; echo "code $?" >&2)`],
      cwd: new URL("../..", import.meta.url),
    }).output();
    const text = new TextDecoder().decode(stderr);
    return {
      code: Number(/code (\d+)/.exec(text)?.[1]),
      stderr: new TextDecoder().decode(stdout) + text,
    };
  } finally {
    await Deno.remove(file);
  }
}

const hasFullDevice = await Deno.stat("/dev/full").then(() => true, () => false);

Deno.test({
  name:
    "a full disk under standard output ends neither a handler nor the process, and is reported once",
  ignore: !hasFullDevice,
  async fn() {
    const { code, stderr } = await runProgram(
      `
      logInfo("outside");
      const result = await enterInvocation(invocation, () => (logInfo("inside"), "done"));
      if (result !== "done") Deno.exit(1);
      logInfo("outside again");`,
      "> /dev/full",
    );
    assertEquals(code, 7, stderr);
    const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
    assertEquals(lines.length, 1, stderr);
    assert(JSON.parse(lines[0]).message.includes("log output failed"));
  },
});
