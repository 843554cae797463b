import { assert, assertEquals, assertGreater } from "@std/assert";
import { setHmacEngine, verifyHmac } from "../../core/http/hmac.ts";
import { timingSafeEqual } from "../../core/mod.ts";

type Compare = (given: string, expected: string) => boolean;

const LENGTH = 1024;
const SECRET = "k".repeat(LENGTH);
const EARLY = `x${SECRET.slice(1)}`;
const LATE = `${SECRET.slice(1)}x`;
const BATCH = 50;
const BATCHES = 500; // of each kind: 50,000 comparisons in all

function getTime(compare: Compare, given: string): number {
  const start = performance.now();
  let equal = 0;
  for (let i = 0; i < BATCH; i++) if (compare(given, SECRET)) equal++;
  const took = performance.now() - start;
  assertEquals(equal, 0);
  return took;
}

const median = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1];

/**
 * How many times as long a comparison takes that differs in the last character as one that differs in the first. The two
 * kinds take turns, so that other load on the machine affects both; the median leaves out short disturbances.
 */
function getLeak(compare: Compare): number {
  for (let i = 0; i < 40; i++) [EARLY, LATE].forEach((given) => getTime(compare, given));
  const early: number[] = [], late: number[] = [];
  for (let i = 0; i < BATCHES; i++) {
    const kinds: [string, number[]][] = [[EARLY, early], [LATE, late]];
    for (const [given, times] of i % 2 === 0 ? kinds : kinds.reverse()) {
      times.push(getTime(compare, given));
    }
  }
  return median(late) / Math.max(median(early), 1e-6);
}

/** A machine under load may disturb one measurement, but not make an early exit look like none. */
function isEven(compare: Compare): boolean {
  for (let attempt = 0; attempt < 3; attempt++) {
    const leak = getLeak(compare);
    if (leak > 0.6 && leak < 1.6) return true;
  }
  return false;
}

Deno.test("timingSafeEqual() takes the same time for differences at the start and at the end", () => {
  assert(isEven(timingSafeEqual));
});

Deno.test("the measurement detects a comparison that stops at the first difference", () => {
  const leaky: Compare = (given, expected) => {
    for (let i = 0; i < given.length; i++) {
      if (given.charCodeAt(i) !== expected.charCodeAt(i)) return false;
    }
    return given.length === expected.length;
  };
  assertGreater(getLeak(leaky), 1.6);
  assertEquals(isEven(leaky), false);
});

Deno.test("verifyHmac() tries every secret and every signature, even after a match", async () => {
  const encoder = new TextEncoder();
  let computed = 0;
  setHmacEngine((_algorithm, key) => {
    computed++;
    return encoder.encode(`mac-of-${new TextDecoder().decode(key.bytes)}`);
  });
  try {
    const secrets = ["first", "second", "third"].map((text) => ({
      text,
      encoding: "utf8" as const,
    }));
    for (const [good, expected] of [["first", true], ["third", true], ["none", false]] as const) {
      computed = 0;
      const signatures = [encoder.encode(`mac-of-${good}`), encoder.encode("mac-of-nobody")];
      assertEquals(await verifyHmac("sha256", secrets, ["body"], signatures), expected);
      assertEquals(computed, 3);
    }
  } finally {
    setHmacEngine(undefined);
  }
});
