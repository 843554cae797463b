import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { decodeByWebStandards } from "../../../core/http/base64.ts";
import { decodeBase64, encodeBase64 } from "../../../core/http/base64.ts";

/** Numbers from 0 to below 1, the same ones each time (a linear congruential generator). */
function createRandom(): () => number {
  let state = 20_261_122;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
}

Deno.test("decodeBase64() returns with web standards what Buffer returns, for any text", () => {
  const random = createRandom();
  const letters = "ABCxyz0189+/-_= \n\t.é=";
  for (let round = 0; round < 20_000; round++) {
    const length = Math.floor(random() * 12);
    const text = Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join(
      "",
    );
    const expected = [...Buffer.from(text, "base64")];
    assertEquals([...decodeBase64(text)], expected, text);
    assertEquals([...decodeByWebStandards(text)], expected, JSON.stringify(text));
  }
});

Deno.test("encodeBase64() gives what Buffer gives, for any bytes", () => {
  for (const length of [0, 1, 2, 3, 4, 8191, 8192, 8193, 100_000]) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536)));
    assertEquals(encodeBase64(bytes), Buffer.from(bytes).toString("base64"));
    assertEquals(decodeBase64(encodeBase64(bytes)), bytes);
  }
});
