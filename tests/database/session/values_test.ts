import { assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { countsRows, readCommand } from "../../../database/providers/data_api_driver.ts";
import { toParameterText } from "../../../database/session/parameter_text.ts";
import { rawReader, readTimestamp } from "../../../database/session/read_value.ts";
import { findTypeId } from "../../../database/session/type_ids.ts";

const times: [text: string, expected: string | number][] = [
  ["2026-01-31 12:34:56", "2026-01-31T12:34:56.000Z"],
  ["2026-01-31 12:34:56.789999", "2026-01-31T12:34:56.789Z"],
  ["2026-01-31 12:34:56.5+00", "2026-01-31T12:34:56.500Z"],
  ["2026-01-31 12:34:56+05:30", "2026-01-31T07:04:56.000Z"],
  ["2026-01-31 12:34:56-03:30:15", "2026-01-31T16:05:11.000Z"],
  ["0099-05-06 07:08:09", "0099-05-06T07:08:09.000Z"],
  ["0001-01-01 00:00:00+00", "0001-01-01T00:00:00.000Z"],
  ["0001-02-29 00:00:00 BC", "0000-02-29T00:00:00.000Z"],
  ["0044-03-15 12:00:00+00 BC", "-000043-03-15T12:00:00.000Z"],
  ["12345-06-07 00:00:00", "+012345-06-07T00:00:00.000Z"],
  ["infinity", Infinity],
  ["-infinity", -Infinity],
  // beyond what a Date holds, and another date style
  ["290000-01-01 00:00:00", "290000-01-01 00:00:00"],
  ["31/01/2026 12:34:56", "31/01/2026 12:34:56"],
];
for (const [text, expected] of times) {
  Deno.test(`readTimestamp() reads ${text}`, () => {
    const value = readTimestamp(text);
    assertEquals(value instanceof Date ? value.toISOString() : value, expected);
  });
}

Deno.test("rawReader() reads bytes in both formats", () => {
  const read = rawReader(findTypeId("bytea"))!;
  assertEquals(read("\\x00ff5c"), Buffer.from([0, 255, 92]));
  assertEquals(read("a\\000\\377\\\\b"), Buffer.from([97, 0, 255, 92, 98]));
  assertEquals(read("\\x"), Buffer.from([]));
});

Deno.test("rawReader() leaves texts, big numbers, dates and unknown types as they are", () => {
  for (const type of ["text", "int8", "numeric", "date", "interval", "uuid", "money"]) {
    assertEquals(rawReader(findTypeId(type)), undefined, type);
  }
  assertEquals(findTypeId("mood"), 0);
  assertEquals(rawReader(0), undefined);
});

const parameters: [value: unknown, text: string | null][] = [
  ["a", "a"],
  [null, null],
  [undefined, null],
  [1.5, "1.5"],
  [NaN, "NaN"],
  [2n ** 70n, "1180591620717411303424"],
  [true, "true"],
  [new Date(0), "1970-01-01T00:00:00.000Z"],
  [new Date(Date.UTC(12345, 0, 1)), "12345-01-01T00:00:00.000Z"],
  [new Date(Date.UTC(-43, 2, 15)), "0044-03-15T00:00:00.000Z BC"],
  [new Uint8Array([0, 255]), "\\x00ff"],
  [new Uint8Array([0, 255]).buffer, "\\x00ff"],
  [new DataView(new Uint8Array([9, 1, 2]).buffer, 1, 2), "\\x0102"],
  [Buffer.from("a"), "\\x61"],
  [{ a: [1] }, '{"a":[1]}'],
  [["a", null, 1, [true]], '{"a",NULL,"1",{"true"}}'],
  [[new Date(0), new Uint8Array([1])], '{"1970-01-01T00:00:00.000Z","\\\\x01"}'],
  [{ toPostgres: () => ["x"] }, '{"x"}'],
];
for (const [value, text] of parameters) {
  Deno.test(`toParameterText() writes ${text}`, () => assertEquals(toParameterText(value), text));
}

Deno.test("toParameterText() refuses an invalid Date", () => {
  assertThrows(() => toParameterText(new Date(NaN)), TypeError, "Date");
});

const commands: [text: string, command: string, counts: boolean][] = [
  ["select 1", "SELECT", true],
  ["  -- a comment; update\n/* another */ Insert into t values (1)", "INSERT", true],
  ["(select 1) union (select 2)", "SELECT", true],
  ["with a as (delete from t returning *) select * from a", "SELECT", true],
  [
    "WITH RECURSIVE a AS (SELECT 'x) update'), \"b (\" AS (SELECT 1) UPDATE t SET n = 1",
    "UPDATE",
    true,
  ],
  ["with a as (select $x$ ) delete $x$) delete from t", "DELETE", true],
  ["values (1)", "SELECT", true],
  ["create table t (id int)", "CREATE", false],
  ["set local x = 1", "SET", false],
  ["explain select 1", "EXPLAIN", false],
  ["", "", false],
];
for (const [text, command, counts] of commands) {
  Deno.test(`readCommand() finds ${command || "nothing"} in ${JSON.stringify(text)}`, () => {
    assertEquals([readCommand(text), countsRows(readCommand(text))], [command, counts]);
  });
}
