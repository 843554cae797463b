import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { decodeBase64, encodeBase64 } from "../../../core/http/base64.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

Deno.test("decodeBase64() returns what Buffer returns, for any text", () => {
  const { below, pick } = createRandom(testSeed);
  const letters = [..."ABCxyz0189+/-_= \n\t.é="];
  for (let round = 0; round < 20_000; round++) {
    const length = below(12);
    const text = Array.from({ length }, () => pick(letters)).join(
      "",
    );
    const expected = [...Buffer.from(text, "base64")];
    assertEquals([...decodeBase64(text)], expected, text);
  }
});

Deno.test("encodeBase64() gives what Buffer gives, for any bytes", () => {
  for (const length of [0, 1, 2, 3, 4, 8191, 8192, 8193, 100_000]) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536)));
    assertEquals(encodeBase64(bytes), Buffer.from(bytes).toString("base64"));
    assertEquals(decodeBase64(encodeBase64(bytes)), bytes);
  }
});
