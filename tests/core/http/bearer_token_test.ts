import { assertEquals } from "@std/assert";
import { extractBearerToken } from "../../../core/http/bearer_token.ts";

const CASES: [header: string | null | undefined, token: string | null][] = [
  ["Bearer abc", "abc"],
  ["bearer abc", "abc"],
  ["BEARER   abc", "abc"],
  ["Bearer aZ09-._~+/==", "aZ09-._~+/=="],
  ["Bearer a%2Bb", "a%2Bb"],
  ["Bearer", null],
  ["Bearer ", null],
  ["Bearer =", null],
  ["Bearer a b", null],
  ["Bearer a, Bearer b", null],
  ["Bearer a\n", null],
  ["Bearer é", null],
  [" Bearer abc", null],
  ["Bearerabc", null],
  ["Basic abc", null],
  ["abc", null],
  ["", null],
  [null, null],
  [undefined, null],
  [7 as unknown as string, null],
  [["Bearer abc"] as unknown as string, null],
];

for (const [header, token] of CASES) {
  Deno.test(`extractBearerToken() is ${token} for ${JSON.stringify(header)}`, () => {
    assertEquals(extractBearerToken(header), token);
  });
}
