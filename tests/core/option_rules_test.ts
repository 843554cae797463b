import { assertEquals, assertThrows } from "@std/assert";
import { checkOptions, oneOf, type OptionRules, protective } from "../../core/option_rules.ts";
import { ConfigurationError } from "../../errors/mod.ts";

const rules: OptionRules = { size: oneOf(["small", "large"]) };
const cycle: Record<string, unknown> = {};
cycle.self = cycle;

const SHOWN: [value: unknown, shown: string][] = [
  ["30", '"30"'],
  ["", '""'],
  [30, "30"],
  [NaN, "NaN"],
  [-Infinity, "-Infinity"],
  [null, "null"],
  [7n, "7"],
  [Symbol("x"), "Symbol(x)"],
  [() => 1, "a function"],
  [{ a: ["b"] }, '{"a":["b"]}'],
  [cycle, "[object Object]"],
  ["x".repeat(100), `"${"x".repeat(79)}`],
];

for (const [value, shown] of SHOWN) {
  Deno.test(`checkOptions() shows a value as ${shown.slice(0, 20)} and what it must be`, () => {
    const error = assertThrows(
      () => checkOptions("defineThing", { size: value }, rules, "box."),
      ConfigurationError,
    );
    assertEquals(error.message, `box.size is ${shown}: it must be small or large`);
  });
}

Deno.test("checkOptions() refuses a protective option that is undefined", () => {
  checkOptions("defineThing", {}, { size: protective(rules.size) });
  assertThrows(
    () =>
      checkOptions("defineThing", { size: undefined }, { size: protective(rules.size) }, "box."),
    ConfigurationError,
    "box.size is undefined",
  );
});

Deno.test("checkOptions() takes what fits and what is undefined, and names the options that there are", () => {
  checkOptions("defineThing", { size: "large" }, rules);
  checkOptions("defineThing", { size: undefined }, rules);
  assertThrows(
    () => checkOptions("defineThing", { toString: 1 }, rules),
    ConfigurationError,
    "defineThing has no option toString: it has size",
  );
});
