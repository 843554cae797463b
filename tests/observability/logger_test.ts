import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { NotFoundError } from "../../errors/mod.ts";
import { Invocation } from "../../observability/invocation.ts";
import { enterInvocation } from "../../observability/invocation_context.ts";
import { LOG_LEVELS } from "../../observability/log_level.ts";
import { quote } from "../../observability/json_text.ts";
import { isLevelEnabled, log } from "../../observability/logger.ts";
import { logDebug, logError, logInfo, type LogLevel, logWarn } from "../../observability/mod.ts";
import { captureLogs, type LogLine } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

async function getLine(fn: () => void): Promise<LogLine> {
  const { lines } = await captureLogs(fn);
  assertEquals(lines.length, 1);
  return lines[0];
}

function newInvocation(level: LogLevel = "INFO"): Invocation {
  const invocation = new Invocation({
    correlationId: "correlation-1",
    requestId: "request-1",
    traceId: "1-5759e988-bd862e3fe1be46a994272793",
    operationName: "Test",
    functionName: "test-function",
    coldStart: true,
  });
  invocation.level = LOG_LEVELS[level];
  return invocation;
}

Deno.test("log() writes Powertools' field names inside an invocation", async () => {
  await withEnv({ SERVICE_NAME: "notes" }, async () => {
    const { lines } = await captureLogs(() =>
      enterInvocation(newInvocation(), () => logInfo("created", { noteId: "n1" }))
    );
    const { timestamp, ...rest } = lines[0];
    assertMatch(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assertEquals(rest, {
      level: "INFO",
      message: "created",
      service: "notes",
      function_name: "test-function",
      function_request_id: "request-1",
      cold_start: true,
      xray_trace_id: "1-5759e988-bd862e3fe1be46a994272793",
      correlation_id: "correlation-1",
      noteId: "n1",
    });
  });
});

Deno.test("log() outside of an invocation writes at once, with the service alone", async () => {
  await withEnv({ SERVICE_NAME: "notes" }, async () => {
    const line = await getLine(() => logWarn("careful"));
    assertEquals(Object.keys(line), ["level", "message", "timestamp", "service"]);
    assertEquals([line.level, line.service], ["WARN", "notes"]);
  });
});

Deno.test("log() leaves function name and trace id out when they are not known", async () => {
  const start = { correlationId: "c", requestId: "r", operationName: "o", coldStart: false };
  const invocation = new Invocation({ ...start, traceId: undefined, functionName: undefined });
  const { lines } = await captureLogs(() => enterInvocation(invocation, () => logInfo("x")));
  assertFalse("function_name" in lines[0] || "xray_trace_id" in lines[0]);
});

Deno.test("log() shows the levels from the invocation's, else from LOG_LEVEL, on", async () => {
  const all: LogLevel[] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "CRITICAL"];
  for (const level of Object.keys(LOG_LEVELS) as LogLevel[]) {
    const shown = all.filter((other) => LOG_LEVELS[other] >= LOG_LEVELS[level]);
    const logAll = (): void => all.forEach((other) => log(other, "x"));
    const inside = await captureLogs(() => enterInvocation(newInvocation(level), logAll));
    assertEquals(inside.lines.map((line) => line.level), shown);
    await withEnv({ LOG_LEVEL: level }, async () => {
      assertEquals((await captureLogs(logAll)).lines.map((line) => line.level), shown);
      for (const other of all) assertEquals(isLevelEnabled(other), shown.includes(other));
    });
  }
});

Deno.test("logDebug(), logInfo(), logWarn() and logError() log at their levels", async () => {
  const { lines } = await captureLogs(() =>
    enterInvocation(
      newInvocation("TRACE"),
      () => [logDebug, logInfo, logWarn, logError].forEach((fn) => fn("x")),
    )
  );
  assertEquals(lines.map((line) => line.level), ["DEBUG", "INFO", "WARN", "ERROR"]);
});

Deno.test("log() puts an underscore before a field that would take a reserved name", async () => {
  const names = [
    "level",
    "message",
    "timestamp",
    "service",
    "function_name",
    "function_request_id",
    "cold_start",
  ];
  names.push("xray_trace_id", "correlation_id");
  const fields = Object.fromEntries(names.map((name) => [name, "forged"]));
  const { writes, lines: [line] } = await captureLogs(() =>
    enterInvocation(newInvocation(), () => logInfo("real", fields))
  );
  for (const name of names) {
    assertEquals(line[`_${name}`], "forged");
    assert(line[name] !== "forged", name);
    assertEquals(writes[0].split(`"${name}":`).length, 2, name);
  }
});

const INJECTIONS = [
  'x\n{"level":"ERROR","message":"forged"}',
  "x\r\nforged",
  "\u001b[2J\u001b]0;title\u0007",
  "\u009b31m",
  "\u2028\u2029\u0085",
  "\u0000\u0008\u007f",
  '","level":"ERROR","x":"',
  "\ud800 lone",
];

Deno.test("log() writes one line for each call without control characters, for any texts", async () => {
  for (const text of INJECTIONS) {
    const error = new Error(text, { cause: new Error(text) });
    error.name = text;
    const { writes } = await captureLogs(() =>
      logInfo(text, { text, [text]: text, list: [text], map: new Map([[text, text]]), error })
    );
    assertEquals(writes.length, 1);
    assertEquals(writes[0].indexOf("\n"), writes[0].length - 1);
    // deno-lint-ignore no-control-regex
    assertFalse(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/.test(writes[0]));
    assertEquals(JSON.parse(writes[0]).level, "INFO");
  }
});

Deno.test("quote() gives what JSON.parse reads back", () => {
  for (
    const text of ["plain", "", 'with "quotes" \\ and é', "emoji 😀", ...INJECTIONS.slice(0, -1)]
  ) {
    assertEquals(JSON.parse(quote(text)), text);
  }
});

Deno.test("log() shows values of every kind and leaves undefined out", async () => {
  const line = await getLine(() =>
    logInfo("x", {
      a: 1,
      b: "t",
      c: true,
      d: null,
      e: undefined,
      f: NaN,
      g: 10n,
      h: new Date(0),
      i: [1],
      j: { k: 1 },
    })
  );
  const { level: _l, message: _m, timestamp: _t, service: _s, ...fields } = line;
  assertEquals(fields, {
    a: 1,
    b: "t",
    c: true,
    d: null,
    f: "NaN",
    g: "10",
    h: "1970-01-01T00:00:00.000Z",
    i: [1],
    j: { k: 1 },
  });
});

Deno.test("log() takes secrets out of message and fields, by key and by form", async () => {
  const { writes } = await captureLogs(() =>
    logInfo("sent Bearer SECRET-1", {
      password: "SECRET-2",
      pin: 4711,
      url: "postgres://u:SECRET-3@h/db",
      headers: { Authorization: "SECRET-4", "X-Api-Key": ["SECRET-5"] },
      error: new Error("Bearer SECRET-6", {
        cause: new NotFoundError("x", { details: { token: "SECRET-7" } }),
      }),
    })
  );
  assertFalse(writes[0].includes("SECRET-") || writes[0].includes("4711"), writes[0]);
});

Deno.test("log() takes further key names of its invocation", async () => {
  const invocation = newInvocation();
  invocation.redact = new Set(["iban"]);
  const { lines: [line] } = await captureLogs(() =>
    enterInvocation(invocation, () => logInfo("x", { IBAN: "DE1", deep: { iban: "DE2" } }))
  );
  assertEquals([line.IBAN, line.deep.iban], ["[REDACTED]", "[REDACTED]"]);
});

Deno.test("log() describes an error in place of the fields, or any thrown value in the field error", async () => {
  const direct = await getLine(() => logError("failed", new TypeError("why")));
  assertEquals([direct.error.name, direct.error.message], ["TypeError", "why"]);
  const field = await getLine(() =>
    logError("failed", { error: new TypeError("why"), other: new Error("too") })
  );
  assertEquals([field.error.name, field.other.message], ["TypeError", "too"]);
  const text = await getLine(() => logError("failed", { error: "why" }));
  assertEquals(text.error, "why");
  const object = await getLine(() => logError("failed", { error: { password: "x" } }));
  assertEquals(object.error.name, "object");
});

Deno.test("log() never throws, even if reading a field throws", async () => {
  const bad = (): never => {
    throw new Error("no");
  };
  const proxy = new Proxy(new Error("x"), {
    get: bad,
    getPrototypeOf: bad,
    ownKeys: bad,
    has: bad,
  });
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const getter = Object.defineProperty({ a: 1 }, "bad", { get: bad, enumerable: true });
  for (
    const fields of [getter, proxy, revoked, { error: proxy }, { error: revoked }, { value: proxy }]
  ) {
    const line = await getLine(() => logError("still here", fields as Record<string, unknown>));
    assertEquals([line.level, line.message], ["ERROR", "still here"]);
  }
  assertEquals((await getLine(() => logError("x", getter))).a, 1);
});

Deno.test("log() takes a message that is no text", async () => {
  assertEquals((await getLine(() => logInfo(7 as unknown as string))).message, "7");
});

Deno.test("log() shortens a long text", async () => {
  const line = await getLine(() => logInfo("x".repeat(100_000), { text: "y".repeat(100_000) }));
  assertStringIncludes(line.message, "(100000 characters)");
  assert(JSON.stringify(line).length < 20_000);
});

Deno.test("log() escapes the characters that turn the direction of a text", async () => {
  for (const code of [0x61c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069]) {
    const { writes } = await captureLogs(() => logInfo(`a${String.fromCharCode(code)}b`));
    assertStringIncludes(writes.join(""), `a\\u${code.toString(16).padStart(4, "0")}b`);
  }
});
