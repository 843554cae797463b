import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigurationError } from "../../errors/mod.ts";
import { csvLines, responseStreaming, streamCsv } from "../../streaming/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { testSeed } from "../support/seed.ts";

async function render(
  rows: readonly Record<string, unknown>[],
  columns: readonly string[],
  delimiter?: "," | ";" | "\t",
): Promise<string> {
  return (await Array.fromAsync(csvLines(rows, { columns, delimiter, byteOrderMark: false })))
    .join("");
}

/** Reads CSV as RFC 4180 says. */
function parse(text: string, delimiter: string): string[][] {
  const rows: string[][] = [[]];
  for (let at = 0; at < text.length;) {
    let cell = "";
    if (text[at] === '"') {
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        cell += text[at];
        if (text[at] === '"') at++;
      }
      at++;
    } else {
      while (text[at] !== delimiter && text[at] !== "\r") cell += text[at++];
    }
    rows.at(-1)!.push(cell);
    if (text[at] === delimiter) {
      at++;
      continue;
    }
    at += 2;
    if (at < text.length) rows.push([]);
  }
  return rows;
}

Deno.test("csvLines() renders each kind of value", async () => {
  const at = new Date(0);
  const row = {
    a: "x,y",
    b: 'say "hi"',
    c: null,
    d: -1.5,
    e: 10n,
    f: at,
    g: { n: 1 },
    h: true,
    i: "a\nb",
  };
  assertEquals(
    await render([row], Object.keys(row)),
    `a,b,c,d,e,f,g,h,i\r\n"x,y","say ""hi""",,-1.5,10,1970-01-01T00:00:00.000Z,"{""n"":1}",true,"a\nb"\r\n`,
  );
});

Deno.test("csvLines() lets no text be a formula", async () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]) {
    const [, [cell]] = parse(await render([{ a: text }], ["a"]), ",");
    assertEquals(cell, `'${text}`);
  }
});

Deno.test("csvLines() loses nothing of any text, with each delimiter", async () => {
  const texts = fc.array(fc.record({ a: fc.string({ unit: "binary" }), b: fc.string() }));
  await fc.assert(
    fc.asyncProperty(texts, fc.constantFrom(",", ";", "\t"), async (rows, delimiter) => {
      const [head, ...cells] = parse(await render(rows, ["a", "b"], delimiter), delimiter);
      assertEquals(head, ["a", "b"]);
      const safe = (text: string) => /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
      assertEquals(cells, rows.map(({ a, b }) => [safe(a), safe(b)]));
    }),
    { seed: testSeed, numRuns: 500 },
  );
});

Deno.test("streamCsv() answers with a file, and refuses a table without columns", async () => {
  const handler = defineApiHandler({
    streaming: responseStreaming(),
    logging: { level: "SILENT" },
  })(
    () =>
      streamCsv([{ n: 1 }], {
        columns: { Zahl: ({ n }) => n },
        fileName: 'Ann\'s (1) "ä*\ud800".csv',
      }),
  );
  const { headers, body } = await handler(createRestApiEvent(), createLambdaContext());
  assertEquals(headers?.["Content-Type"], "text/csv; charset=utf-8");
  assertEquals(
    headers?.["Content-Disposition"],
    `attachment; filename="Ann's (1) __*__.csv"; filename*=UTF-8''Ann%27s%20%281%29%20%22%C3%A4%2A%EF%BF%BD%22.csv`,
  );
  assertEquals(body, "\ufeffZahl\r\n1\r\n");
  assertThrows(() => streamCsv([], { columns: [] }), ConfigurationError, "at least one column");
});
