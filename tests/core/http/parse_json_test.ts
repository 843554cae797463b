import { assertEquals } from "@std/assert";
import { isNestedDeeper } from "../../../core/http/parse_json.ts";
import { defineQueueHandler } from "../../../triggers/mod.ts";
import { createLambdaContext, createQueueEvent } from "../../../testing/mod.ts";
import * as z from "zod";
import { captureLogs } from "../../support/capture_logs.ts";
import { testSeed } from "../../support/seed.ts";

const seed = testSeed;
// deno-lint-ignore no-console -- repeats the cases
console.log(`nested texts: TRELLIS_SEED=${seed}`);

let state = seed;
function random(below: number): number {
  state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
  return Math.floor(state / 2 ** 32 * below);
}

const TEXTS = ["", "a", "[", '{"', '\\"]', "\\", "\\\\", "]}", "é😀", "\n", '"[[', "constructor"];
const text = (): string => TEXTS[random(TEXTS.length)].repeat(random(3));

function makeValue(levels: number): unknown {
  if (levels === 0 || random(8) === 0) return [text(), 1, null, true][random(4)];
  const items = Array.from({ length: random(3) + 1 }, () => makeValue(random(levels)));
  items.splice(random(items.length + 1), 0, makeValue(levels - 1));
  return random(2) === 0
    ? items
    : Object.fromEntries(items.map((item, at) => [`${text()}${at}`, item]));
}

function getDepth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(getDepth));
}

const ROUNDS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 200_000 : 3_000;

Deno.test("isNestedDeeper() says what a recursive walk says, for any value", () => {
  for (let round = 0; round < ROUNDS; round++) {
    const value = makeValue(random(12));
    const depth = getDepth(value);
    for (const limit of [0, 1, depth - 1, depth, depth + 1]) {
      if (limit < 0) continue;
      assertEquals(
        isNestedDeeper(value, limit),
        depth > limit,
        `${JSON.stringify(value)} beyond ${limit}`,
      );
    }
  }
});

Deno.test("a message of 100,000 levels fails alone, and not the batch", async () => {
  const queue = defineQueueHandler({ schema: z.any() })(({ body }) => void JSON.stringify(body));
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const event = createQueueEvent([{ messageId: "m1", body: deep }, {
    messageId: "m2",
    body: "[]",
  }]);
  const { result } = await captureLogs(() => queue(event, createLambdaContext()));
  assertEquals(result, { batchItemFailures: [{ itemIdentifier: "m1" }] });
});
