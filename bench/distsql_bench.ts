/**
 * How fast SQL is cut into tokens and translated, and that the time grows with the text and no faster.
 *
 *   deno bench -A bench/distsql_bench.ts
 *
 * The last lines give MB/s for texts of 1, 2, 4 and 8 MB: the figure has to stay about the same.
 */
import { translateForDistSql } from "../distsql/translate/sanitize.ts";
import { tokenize } from "../sql/tokenize.ts";
import { getText } from "./scale/sql.ts";

const MEGABYTE = 1_000_000;
const ONE_MEGABYTE = getText(MEGABYTE);

Deno.bench("tokenize 1 MB", () => void tokenize(ONE_MEGABYTE));
Deno.bench("translate 1 MB", () => void translateForDistSql(ONE_MEGABYTE));
Deno.bench(
  "translate one CREATE INDEX",
  () => void translateForDistSql('CREATE INDEX "i" ON "t" USING btree ("a" DESC);'),
);

/** MB/s of the best of a few runs. */
function rate(run: (sql: string) => unknown, sql: string): string {
  let best = Infinity;
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    run(sql);
    best = Math.min(best, performance.now() - start);
  }
  return (sql.length / MEGABYTE / (best / 1000)).toFixed(1);
}

globalThis.addEventListener("unload", () => {
  for (const [name, run] of [["tokenize", tokenize], ["translate", translateForDistSql]] as const) {
    const rates = [1, 2, 4, 8].map((size) => `${size} MB: ${rate(run, getText(size * MEGABYTE))}`);
    // deno-lint-ignore no-console -- a benchmark's result
    console.log(`${name}, MB/s: ${rates.join(", ")}`);
  }
});
