import { assertEquals } from "@std/assert";
import {
  formatBytes,
  listLargestPackages,
  renderSizeTable,
} from "../../../cli/build/build_report.ts";
import { sumByPackage } from "../../../cli/build/sizes.ts";

Deno.test("formatBytes() rounds to what a person compares", () => {
  const cases: readonly [bytes: number, text: string][] = [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [9949, "9.9 kB"],
    [9950, "10 kB"],
    [117_040, "117 kB"],
    [999_499, "999 kB"],
    [999_500, "1.0 MB"],
    [12_345_678, "12.3 MB"],
  ];
  for (const [bytes, text] of cases) assertEquals(formatBytes(bytes), text);
});

Deno.test("sumByPackage() adds modules up, the largest package first", () => {
  const modules = [
    { path: "a", package: "zod", bytes: 5 },
    { path: "b", bytes: 3 },
    { path: "c", package: "zod", bytes: 5 },
    { path: "d", package: "another", bytes: 3 },
  ];
  assertEquals(sumByPackage(modules), [
    { name: "zod", bytes: 10 },
    { name: "(own code)", bytes: 3 },
    { name: "another", bytes: 3 },
  ]);
});

Deno.test("listLargestPackages() names three packages at most, none under a twentieth", () => {
  const packages = [["a", 400], ["b", 300], ["c", 200], ["d", 100]].map(([name, bytes]) => ({
    name: String(name),
    bytes: Number(bytes),
  }));
  assertEquals(listLargestPackages(packages, 1000), "a 400 B, b 300 B, c 200 B");
  assertEquals(listLargestPackages([{ name: "a", bytes: 49 }], 1000), "");
});

Deno.test("renderSizeTable() lines columns up and marks what is over budget", () => {
  const row = {
    packages: [{ name: "zod", bytes: 90 }],
    bytes: 100,
    gzipBytes: 1200,
    isOver: false,
  };
  const lines = renderSizeTable(
    [{ ...row, name: "A" }, { ...row, name: "LongerName", isOver: true }],
    (text) => `!${text}`,
  );
  assertEquals(lines, [
    "function     size    gzip  largest packages",
    "A           100 B  1.2 kB  zod 90 B",
    "!LongerName  100 B  1.2 kB  zod 90 B",
  ]);
});
