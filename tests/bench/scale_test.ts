import { assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { duration, renderFigure } from "../../bench/scale/figure.ts";
import { fitExponent } from "../../bench/scale/fit.ts";
import { measureSeries } from "../../bench/scale/subject.ts";

const getPoints = (cost: (size: number) => number) =>
  [10, 100, 200, 500, 1000].map((size) => ({ size, ms: cost(size) }));

Deno.test("fitExponent() gives the power with which cost grows", () => {
  assertAlmostEquals(fitExponent(getPoints((size) => 0.01 * size)), 1, 1e-9);
  assertAlmostEquals(fitExponent(getPoints((size) => 3 * size ** 2)), 2, 1e-9);
  assertAlmostEquals(fitExponent(getPoints(() => 7)), 0, 1e-9);
  // what each call costs shows in small sizes, which do not count
  assertAlmostEquals(fitExponent(getPoints((size) => (size < 125 ? 50 : size))), 1, 1e-9);
});

Deno.test("renderFigure() draws each line with its exponent, for light and dark pages", () => {
  const lines = [{ name: "a < b", points: getPoints((size) => size) }, {
    name: "c",
    points: getPoints((size) => size * 3),
  }];
  const svg = renderFigure({ title: 'cost & "size"', unit: "fields" }, lines);
  assertStringIncludes(svg, 'aria-label="cost &amp; &quot;size&quot;"');
  assertStringIncludes(svg, "a &lt; b: exponent 1.00");
  assertStringIncludes(svg, "prefers-color-scheme:dark");
  assertEquals(svg.match(/<path class="line/g)?.length, 2);
  assertEquals(svg.match(/NaN|Infinity|undefined/), null);
});

Deno.test("duration() has a unit that needs no zeros after the point", () => {
  assertEquals([1e-6, 0.0345, 12, 1500].map(duration), ["1 ns", "34.5 µs", "12 ms", "1.5 s"]);
});

Deno.test("measureSeries() makes, runs and ends the work of each size", async () => {
  const seen: string[] = [];
  const points = await measureSeries({
    name: "work",
    prepare: (size) => ({
      waits: true,
      run(): Promise<void> {
        seen.push(`run ${size}`);
        return new Promise((resolve) => setTimeout(resolve, 60));
      },
      before: () => void seen.push(`before ${size}`),
      close: () => void seen.push(`close ${size}`),
    }),
  }, [1, 2]);
  assertEquals(points.map(({ size }) => size), [1, 2]);
  assertEquals(seen.slice(0, 2), ["before 1", "run 1"]);
  assertEquals(seen.filter((line) => line.startsWith("close")), ["close 1", "close 2"]);
});
