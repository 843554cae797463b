/**
 * Cost against size, as figures: schemas, bodies, batches, SQL, migrations, generators. Prints each point and the power
 * with which cost grows, and writes `docs/figures/<id>.svg`.
 *
 *   deno run -A bench/scale.ts                 # all of them, some minutes
 *   deno run -A bench/scale.ts schemas sql     # some
 */
// deno-lint-ignore-file no-console
import { setLogOutput } from "../observability/output.ts";
import { duration, renderFigure } from "./scale/figure.ts";
import { fitExponent } from "./scale/fit.ts";
import { generators } from "./scale/generators.ts";
import { batches, bodies, schemas } from "./scale/handlers.ts";
import { migrations, stopServer } from "./scale/migrations.ts";
import { translation } from "./scale/sql.ts";
import { measureSeries } from "./scale/subject.ts";

const SUBJECTS = [schemas, bodies, batches, translation, migrations, generators];
const wanted = SUBJECTS.filter(({ id }) =>
  Deno.args.length === 0 || Deno.args.includes(id.replace("scale_", ""))
);
if (wanted.length === 0) {
  console.error(`Known are ${SUBJECTS.map(({ id }) => id.replace("scale_", "")).join(", ")}`);
  Deno.exit(2);
}
const folder = new URL("../docs/figures/", import.meta.url);
await Deno.mkdir(folder, { recursive: true });
setLogOutput(() => {});
try {
  for (const subject of wanted) {
    console.log(`\n${subject.title}`);
    const lines = [];
    for (const series of subject.series) {
      try {
        const points = await measureSeries(series, subject.sizes);
        lines.push({ name: series.name, points });
        const costs = points.map(({ size, ms }) => `${size}: ${duration(ms)}`).join(", ");
        console.log(`  ${series.name}: exponent ${fitExponent(points).toFixed(2)} (${costs})`);
      } catch (error) {
        console.error(`  ${series.name}: LEFT OUT, it failed: ${(error as Error).message}`);
        Deno.exitCode = 1;
      }
    }
    if (lines.length > 0) {
      await Deno.writeTextFile(new URL(`${subject.id}.svg`, folder), renderFigure(subject, lines));
    }
  }
} finally {
  await stopServer();
}
