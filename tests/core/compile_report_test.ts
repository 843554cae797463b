import { assertEquals, assertStringIncludes } from "@std/assert";
import { compileReport } from "../../core/compile_report.ts";
import { HandlerInvocation } from "../../core/handler_invocation.ts";
import { readHandlerSettings } from "../../core/handler_settings.ts";
import { enterInvocation } from "../../observability/invocation_context.ts";
import { createLambdaContext } from "../../testing/mod.ts";
import { denoProjectFiles, writeTestProject } from "../cli/build/project.ts";
import { captureLogs } from "../support/capture_logs.ts";

Deno.test("compileReport() writes nothing and does not change the invocation", async () => {
  const context = createLambdaContext();
  const logging = { level: "DEBUG", logResult: true, fields: { team: "notes" } } as const;
  const settings = readHandlerSettings("listNotes", { logging });
  const start = {
    correlationId: "c-1",
    requestId: "r-1",
    traceId: undefined,
    operationName: "listNotes",
    functionName: "fn",
    coldStart: true,
  };
  const invocation = new HandlerInvocation(start, {}, context);
  invocation.level = settings.level!;
  const { writes } = await captureLogs(() =>
    enterInvocation(invocation, async () => {
      await Promise.resolve();
      const before = { ...invocation };
      compileReport(invocation, settings);
      assertEquals({ ...invocation }, before);
    })
  );
  assertEquals(writes, []);
});

Deno.test("the report of the first invocation is compiled on Node while the invocation waits", async () => {
  // a line of the log reads the time
  const source = `import { withObservability } from "@trellis/fn/core";
let reads = 0;
const { now } = Date;
Date.now = () => { reads++; return now(); };
export const handler = withObservability(async function probe() {
  await Promise.resolve();
  const before = reads;
  await new Promise((resolve) => setTimeout(resolve, 20));
  return { statusCode: 200, body: String(reads > before) };
});
`;
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/functions/standalone/probe.ts": source,
  });
  try {
    const { exitCode, stderr } = await project.build();
    assertEquals(exitCode, 0, stderr);
    const { answer, logged } = await project.call("Probe");
    assertEquals(answer.body, "true");
    assertStringIncludes(logged, '"message":"request completed"');
    assertEquals(logged.split('"message"').length, 2, logged);
    assertEquals(logged.split('"ColdStart":1').length, 2, logged);
  } finally {
    await project.remove();
  }
});
