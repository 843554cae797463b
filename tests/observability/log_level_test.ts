import { assertEquals } from "@std/assert";
import { LOG_LEVELS, parseLogLevel } from "../../observability/log_level.ts";

Deno.test("parseLogLevel() reads each level in any case, with spaces around it", () => {
  for (const name of Object.keys(LOG_LEVELS) as (keyof typeof LOG_LEVELS)[]) {
    for (const text of [name, name.toLowerCase(), ` ${name} `]) {
      assertEquals(parseLogLevel(text), name);
    }
  }
  assertEquals(parseLogLevel("warning"), "WARN");
});

Deno.test("parseLogLevel() is undefined for what names no level", () => {
  for (const text of [undefined, "", "verbose", "toString", "__proto__", "12"]) {
    assertEquals(parseLogLevel(text), undefined);
  }
});

Deno.test("LOG_LEVELS rises from TRACE to SILENT", () => {
  const values = Object.values(LOG_LEVELS);
  assertEquals(values, [...values].sort((a, b) => a - b));
  assertEquals(Object.keys(LOG_LEVELS), [
    "TRACE",
    "DEBUG",
    "INFO",
    "WARN",
    "ERROR",
    "CRITICAL",
    "SILENT",
  ]);
});
