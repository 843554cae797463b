import { assertEquals } from "@std/assert";
import { BuildError } from "../../../cli/sources/build_error.ts";
import type { Call } from "../../../cli/dev/functions/recorder.ts";
import { createTerminal, type Terminal } from "../../../cli/dev/terminal.ts";
import type { FunctionFile } from "../../../cli/discovery/function_files.ts";
import { createOutput } from "../../../cli/terminal/output.ts";

function withTerminal(
  test: (terminal: Terminal, told: () => string) => void,
  json = false,
  root?: string,
): void {
  let text = "";
  const stream = { write: (more: string) => void (text += more) };
  test(
    createTerminal(createOutput({ env: {}, json, stdout: stream, stderr: stream }), root),
    () => text,
  );
}

function call(change: Partial<Call>): Call {
  return {
    id: "1",
    kind: "api",
    functionName: "Notes",
    title: "GET /notes",
    startedAt: "2026-01-01T12:34:56.000Z",
    isRunning: false,
    isFailed: false,
    durationMs: 3,
    logs: [],
    spans: [],
    statements: [],
    metrics: [],
    ...change,
  };
}

const fn = (name: string): FunctionFile => ({ kind: "api", name, file: `/${name}.ts` });

Deno.test("createTerminal() writes one line for each call, with its warnings and errors", () => {
  withTerminal((terminal, told) => {
    terminal.show({ type: "call", call: call({ isRunning: true }) });
    const ended = call({
      status: 500,
      isFailed: true,
      title: "GET /a\u001b[2J",
      logs: [
        { level: "INFO", message: "not told" },
        { level: "WARN", message: "slow" },
        {
          level: "ERROR",
          message: "request failed",
          error: { name: "TypeError", message: "no\nway", stack: "x\n    at f (/src/a.ts:1:2)" },
        },
      ],
    });
    terminal.show({ type: "call", call: ended });
    terminal.show({ type: "call", call: ended });
    terminal.show({
      type: "call",
      call: call({
        kind: "queue",
        functionName: "SendMail",
        title: "SendMail (queue)",
        note: "1 failed",
        isFailed: true,
      }),
    });
    assertEquals(told().split("\n"), [
      "12:34:56  500  GET /a [2J  Notes  3 ms",
      "          WARN slow",
      "          ERROR request failed: TypeError: no way",
      "             at f (/src/a.ts:1:2)",
      "12:34:56  1 failed  SendMail (queue)  3 ms",
      "",
    ]);
  });
});

Deno.test("createTerminal() prints once what concerns many functions", () => {
  withTerminal((terminal, told) => {
    const fault = { message: "Unexpected", file: "src/a.ts", line: 1, column: 3, source: "a b" };
    for (const name of ["F", "E", "D", "C", "B", "A"]) {
      terminal.failed(fn(name), new BuildError(name, [fault]));
    }
    for (const name of ["B", "A"]) terminal.reloaded(fn(name));
    terminal.flush();
    assertEquals(told().split("\n"), [
      "error A, B, C, D and 2 more cannot be loaded",
      "src/a.ts:1:3: Unexpected",
      "    a b",
      "      ^",
      "          reloaded A, B",
      "",
    ]);
  });
});

Deno.test("createTerminal() shows where an error was thrown, its causes and the names of the database", () => {
  withTerminal(
    (terminal, told) => {
      const stack = [
        "at run (file:///project/node_modules/driver/a.js:1:1)",
        "at createNote (file:///project/src/functions/api/notes.post.ts:14:9)",
        "at async node:internal/process/task_queues:105:5",
      ].join("\n");
      const error = {
        name: "DatabaseError",
        message: "Query addNote failed with SQLSTATE 23514",
        stack,
        details: { constraint: "notes_check" },
        cause: {
          name: "PostgresError",
          message: "new row violates",
          stack: "at x (node:net:1:1)\nat y (node:net:2:2)",
        },
      };
      const log = {
        level: "ERROR",
        message: "query failed",
        queryName: "addNote",
        sqlState: "23514",
        error,
      };
      terminal.show({ type: "log", log });
      assertEquals(told().split("\n").map((line) => line.trim()).filter(Boolean), [
        "ERROR query failed: DatabaseError: Query addNote failed with SQLSTATE 23514",
        "queryName addNote · sqlState 23514 · constraint notes_check",
        "at createNote (src/functions/api/notes.post.ts:14:9)",
        "caused by PostgresError: new row violates",
        "at x (node:net:1:1)",
      ]);
    },
    false,
    "/project",
  );
});
