import { assertEquals } from "@std/assert";
import { formatArray, parseArray } from "../../../database/session/array_literal.ts";
import { ValueGenerator } from "./typed_values.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

const cases: [text: string, items: unknown][] = [
  ["{}", []],
  ["{a,b}", ["a", "b"]],
  ['{"a,b","c\\"d","e\\\\f",""}', ["a,b", 'c"d', "e\\f", ""]],
  ['{NULL,"NULL",null}', [null, "NULL", "null"]],
  ["{{1,2},{3,NULL}}", [["1", "2"], ["3", null]]],
  ["[0:1]={a,b}", ["a", "b"]],
  ["[-1:0][2:3]={{1,2},{3,4}}", [["1", "2"], ["3", "4"]]],
  ['{"{}","[1]"," x "}', ["{}", "[1]", " x "]],
];
for (const [text, items] of cases) {
  Deno.test(`parseArray() reads ${text}`, () =>
    assertEquals(parseArray(text, (item) => item) as unknown, items));
}

Deno.test("parseArray() takes the delimiter of box", () => {
  assertEquals(parseArray("{(2,2),(1,1);(4,4),(3,3);NULL}", (item) => item, ";"), [
    "(2,2),(1,1)",
    "(4,4),(3,3)",
    null,
  ]);
});

Deno.test("formatArray() writes what parseArray() reads", () => {
  const seed = testSeed;
  const [random, generator] = [createRandom(seed), new ValueGenerator(seed)];
  function items(depth: number): unknown[] {
    return Array.from(
      { length: 1 + random.below(4) },
      () => depth > 0 ? items(depth - 1) : random.chance(0.2) ? null : generator.text(),
    );
  }
  for (let round = 0; round < 500; round++) {
    const list = items(round % 3);
    const text = formatArray(list, (item) => item as string | null);
    assertEquals(parseArray(text, (item) => item) as unknown, list, `seed ${seed}: ${text}`);
  }
});
