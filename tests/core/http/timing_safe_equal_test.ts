import { assertEquals } from "@std/assert";
import { timingSafeEqual } from "../../../core/mod.ts";

const CASES: [given: string, expected: string, equal: boolean][] = [
  ["token", "token", true],
  ["é😀", "é😀", true],
  ["tokeN", "token", false],
  ["Token", "token", false],
  ["token", "toke", false],
  ["toke", "token", false],
  ["aa", "a", false],
  ["", "token", false],
  ["token", "", false],
  ["", "", false],
  ["ab", "ba", false],
];

Deno.test("timingSafeEqual() compares texts and bytes, and nothing equals an empty secret", () => {
  const encoder = new TextEncoder();
  for (const [given, expected, equal] of CASES) {
    assertEquals(timingSafeEqual(given, expected), equal, `${given} ${expected}`);
    assertEquals(
      timingSafeEqual(encoder.encode(given), encoder.encode(expected)),
      equal,
      `${given} ${expected}`,
    );
  }
});

Deno.test("timingSafeEqual() compares code units above 255 in full", () => {
  assertEquals(timingSafeEqual("\u0141", "\u0041"), false);
});

Deno.test("timingSafeEqual() looks at every character that was given", () => {
  let reads = 0;
  const given = new Proxy({ length: 8 }, {
    get(target, key): unknown {
      if (key === "length") return target.length;
      reads++;
      return 0;
    },
  }) as unknown as Uint8Array;
  timingSafeEqual(given, new Uint8Array(8).fill(1));
  assertEquals(reads, 8);
});
