import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { SourceMap } from "node:module";
import { MappingReader, removeColumns } from "../../../cli/build/source_mappings.ts";
import { testSeed } from "../../support/seed.ts";

function readSegments(mappings: string): number[][] {
  const reader = new MappingReader(mappings);
  const all: number[][] = [];
  while (reader.next()) {
    const { line, column, source, sourceLine, sourceColumn, name, fields } = reader.segment;
    all.push([line, column, source, sourceLine, sourceColumn, name].slice(0, fields + 1));
  }
  return all;
}

Deno.test("MappingReader reads segments with one, four and five fields", () => {
  assertEquals(readSegments("AAAA,IAAIA;;C,gBCgBlBC"), [
    [0, 0, 0, 0, 0],
    [0, 4, 0, 0, 4, 0],
    [2, 1],
    [2, 17, 1, 16, -14, 1],
  ]);
  assertEquals(readSegments(""), []);
});

Deno.test("removeColumns() returns mappings unchanged without ranges", () => {
  const mappings = "AAAA,IAAIA;;gBCgBlBC;C,EAAA";
  assertEquals(removeColumns(mappings, []), mappings);
});

Deno.test("removeColumns() keeps no name of a removed token for the text behind it", () => {
  assertEquals(removeColumns("AAAAA,KAAEA", [{ line: 0, from: 0, to: 2 }]), "AAAA,GAAEA");
});

const WIDTH = 12;
const LINES = 3;

/** Returns the position of each character in the sources. */
function locate(mappings: string): unknown[][] {
  // deno-lint-ignore no-explicit-any
  const map = new SourceMap({ version: 3, sources: ["a", "b"], names: ["n"], mappings } as any);
  return Array.from({ length: LINES }, (_, line) =>
    Array.from({ length: WIDTH }, (_, column) => {
      const found = map.findEntry(line, column) as Partial<Record<string, unknown>>;
      if (found.generatedLine !== line) return "none";
      return `${found.originalSource}:${found.originalLine}:${found.originalColumn}`;
    }));
}

const DIGITS = "ACDEFGHIJKLMNOPQRSTUVWXYZabcdef";
const number = (value: number) => DIGITS[value < 0 ? -value * 2 : Math.max(0, value * 2 - 1)];

/** Writes mappings of small numbers, with the columns of each line and whether they have names. */
function write(lines: readonly (readonly [column: number, isNamed: boolean][])[]): string {
  let [source, position] = [0, 0];
  return lines.map((segments) => {
    let last = 0;
    return segments.map(([column, isNamed], index) => {
      const [toSource, to] = [(column + index) % 2, (column * 5 + index) % 13];
      const text = number(column - last) + number(toSource - source) + "A" +
        number(to - position) + (isNamed ? "A" : "");
      [last, source, position] = [column, toSource, to];
      return text;
    }).join(",");
  }).join(";");
}

const columns = fc.uniqueArray(fc.nat(WIDTH - 1), { maxLength: 8 }).map((all) =>
  all.sort((a, b) => a - b)
);
const lines = fc.array(
  columns.chain((all) => fc.tuple(...all.map((at) => fc.tuple(fc.constant(at), fc.boolean())))),
  { minLength: LINES, maxLength: LINES },
);
const removedColumns = fc.array(
  fc.array(fc.boolean(), { minLength: WIDTH, maxLength: WIDTH }),
  { minLength: LINES, maxLength: LINES },
);

Deno.test("removeColumns() keeps the positions of all other columns", () => {
  fc.assert(
    fc.property(lines, removedColumns, (segments, removed) => {
      const ranges = removed.flatMap((row, line) =>
        row.flatMap((isRemoved, from) => {
          if (!isRemoved || row[from - 1]) return [];
          const end = row.indexOf(false, from);
          return [{ line, from, to: end < 0 ? WIDTH : end }];
        })
      );
      const mappings = write(segments);
      const before = locate(mappings).map((row, line) => row.filter((_, at) => !removed[line][at]));
      const after = locate(removeColumns(mappings, ranges)).map((row, line) =>
        row.slice(0, before[line].length)
      );
      assertEquals(after, before);
    }),
    { seed: testSeed, numRuns: 300 },
  );
});
