import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { createOutput } from "../../cli/terminal/output.ts";
import { runCli } from "../../cli/run_cli.ts";
import { AppError } from "../../errors/mod.ts";
import { addMetadata, logError, logInfo, metrics, MetricUnit } from "../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { runInProcess } from "../cli/fixtures/run.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withTempFolder } from "../support/temp_folder.ts";

/** Every text that makes a line, moves a cursor, hides a text, or makes one read the other way round. */
const HOSTILE = [
  'x\n{"level":"ERROR","message":"forged"}',
  "x\r\nforged",
  "x\rforged",
  "x\u2028forged",
  "x\u2029forged",
  "x\u0085forged",
  "\x1b[2J\x1b[Hforged",
  "\x1b]0;title\x07",
  "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
  "\x9b2Jforged",
  "a\x08\x08\x08forged",
  "\0forged",
  "\x7f",
  'x","level":"ERROR',
  "x\\",
];
/** What no line may hold but at its end. */
// deno-lint-ignore no-control-regex
const CONTROL = /[\0-\x1f\x7f-\x9f\u2028\u2029]/;

function assertOneLineEach(writes: readonly string[], what: string): void {
  const text = writes.join("");
  assert(text.endsWith("\n"), what);
  for (const line of text.slice(0, -1).split("\n")) {
    assertFalse(CONTROL.test(line), `${what}: ${JSON.stringify(line)}`);
    assert(["INFO", "ERROR", undefined].includes(JSON.parse(line).level), what);
    assertFalse(JSON.parse(line).message === "forged", what);
  }
}

for (const text of HOSTILE) {
  Deno.test(`log lines and metrics keep ${JSON.stringify(text)} inside one JSON text`, async () => {
    const { writes, lines } = await captureLogs(() => {
      logInfo(text, {
        [text]: text,
        nested: { [text]: [text] },
        correlation_id: text,
        level: text,
      });
      logError(
        "failed",
        new Error(text, { cause: new AppError("CONFLICT", text, { details: { [text]: text } }) }),
      );
      logError("failed", { error: text });
      metrics.addMetricsWithDimensions({ tenant: `t${text}` }, [[`m${text}`, MetricUnit.Count, 1]]);
    });
    assertOneLineEach(writes, text);
    assertEquals(lines.length, 4);
    assertEquals(lines[0].message, text);
    const { error } = lines[1];
    assertEquals(error.message, text);
  });

  Deno.test(`a request with ${JSON.stringify(text)} in every field writes whole log lines`, async () => {
    const handler = defineApiHandler({
      logging: { level: "DEBUG", logEvent: true, logResult: true, fields: { a: text } },
    })(
      () => {
        addMetadata(text, text);
        throw new AppError("CONFLICT", text, { details: { text } });
      },
    );
    const headers = {
      "X-Correlation-Id": text,
      "X-Request-Id": text,
      "User-Agent": text,
      "X-Amzn-Trace-Id": `Root=${text}`,
    };
    const event = createRestApiEvent({
      method: "POST",
      path: `/${text}`,
      headers,
      query: { [text]: text },
      body: { [text]: text },
    });
    const context = { ...createLambdaContext(), awsRequestId: text, functionName: text };
    const { writes } = await captureLogs(() => handler(event, context));
    for (const line of writes.join("").slice(0, -1).split("\n")) {
      assertFalse(CONTROL.test(line), JSON.stringify(line));
    }
  });
}

/** All characters that control terminals; the texts of commands may contain line ends and tabs. */
const TERMINAL =
  // deno-lint-ignore no-control-regex
  /\x1b(?!\[(?:1|22|31|32|33|39)m)|\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/;

Deno.test("the command line escapes control characters of names, and keeps its own colors", () => {
  let shown = "";
  const stream = { write: (text: string) => void (shown += text), isTTY: true, columns: 400 };
  let now = 0;
  const output = createOutput({
    stdout: stream,
    stderr: stream,
    env: { TERM: "xterm" },
    now: () => now += 2000,
  });
  for (const text of [...HOSTILE, "src/\u202egnp.ts", "\u2066hidden"]) {
    output.endProgress();
    shown = "";
    output.line(`${output.red("created")} ${text}`);
    output.note(text);
    output.warn(text);
    assertFalse(TERMINAL.test(shown), JSON.stringify(shown));
    assertStringIncludes(shown, "\x1b[31mcreated\x1b[39m");
    shown = "";
    output.progress(text.replaceAll("\n", ""), 1, 2);
    assertFalse(TERMINAL.test(shown.replace("\r\x1b[K", "")), JSON.stringify(shown));
  }
  output.endProgress();
  shown = "";
  output.line("one\ntwo\tthree");
  assertEquals(shown, "one\ntwo\tthree\n");
});

Deno.test("the output of a command to a file or another program is unchanged", () => {
  let shown = "";
  const output = createOutput({ stdout: { write: (text) => void (shown += text) }, env: {} });
  output.line("SELECT '\x1b[2J';\r\n");
  assertEquals(shown, "SELECT '\x1b[2J';\r\n\n");
});

Deno.test("--json prints one document without control characters, which parses to the original texts", () => {
  for (const text of [...HOSTILE, "\u202e"]) {
    let shown = "";
    const output = createOutput({
      json: true,
      stdout: { write: (part) => void (shown += part) },
      env: {},
    });
    output.result({ [text]: text });
    assertFalse(TERMINAL.test(shown), JSON.stringify(shown));
    assertEquals(JSON.parse(shown), { [text]: text });
  }
});

Deno.test("the command line prints arguments without control sequences", async () => {
  for (const text of HOSTILE.filter((each) => !each.includes("\n"))) {
    for (
      const args of [[text], ["generate", text], ["generate", "infra", `--${text}`], [
        "db",
        "translate",
        text,
      ]]
    ) {
      const { exitCode, stdout, stderr } = await runInProcess(args);
      assert(exitCode === 2 || exitCode === 3, `${JSON.stringify(args)} ${exitCode}`);
      assertFalse(TERMINAL.test(stdout + stderr), JSON.stringify(stdout + stderr));
    }
  }
});

const FUNCTION = `import { defineApiHandler } from "@trellis/fn";
export const handler = defineApiHandler()(() => ({ statusCode: 200, body: "" }));\n`;

Deno.test("generators reject files whose names contain a line break, an escape or a backslash", async () => {
  for (
    const name of [
      "a\nDROP TABLE victim; --",
      "a\x1b[2J",
      "a\rb",
      "a\u2028b",
      "a\u202eb",
      "e\\..\\..\\f",
    ]
  ) {
    await withTempFolder({}, async (root) => {
      await Deno.mkdir(`${root}/src/functions/api/${name}`, { recursive: true });
      await Deno.writeTextFile(`${root}/deno.json`, "{}");
      await Deno.writeTextFile(`${root}/src/functions/api/${name}/list.get.ts`, FUNCTION);
      for (const noun of ["permissions", "infra", "openapi"]) {
        const { exitCode, stdout, stderr } = await runInProcess([
          "generate",
          noun,
          "--project",
          root,
        ]);
        assertEquals(exitCode, 3, stdout + stderr);
        assertMatch(stderr, /contains a backslash or a control character/);
        assertFalse(TERMINAL.test(stdout + stderr), JSON.stringify(stdout + stderr));
        assertEquals(stderr.trim().split("\n").length, 1);
      }
    });
  }
});

Deno.test("an unexpected error is printed without control sequences", async () => {
  let shown = "";
  const stream = { write: (text: string) => void (shown += text), isTTY: true };
  const command = {
    name: "break",
    summary: "Breaks",
    description: "",
    options: [],
    examples: [],
    run: () => Promise.reject(new Error("\x1b[2Jforged")),
  };
  await runCli(["break"], {
    commands: [command as never],
    stdout: stream,
    stderr: stream,
    env: {},
  });
  assertFalse(TERMINAL.test(shown), JSON.stringify(shown));
  assertStringIncludes(shown, "\\u001b[2Jforged");
});
