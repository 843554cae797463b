// deno-lint-ignore-file no-console
/**
 * Bundles small functions with esbuild from the built npm package, and builds the notes application
 * of `bench/apps` with `trellis build`. Compares their sizes with a goal and a limit. Prints each
 * figure. Exits with 1 if one exceeds its limit or contains a forbidden package.
 *
 *   deno run -A scripts/check_bundles.ts [--package <folder with a build>] [--json]
 *
 * Of a bundle by esbuild it counts the minified bytes that the runtime reads: the entry, its
 * imports, and the driver. Modules behind an `import()` that the function never executes are not
 * counted. Of a function by `trellis build` it counts the files themselves.
 *
 * @module
 */
import * as esbuild from "esbuild";
import { parseArgs } from "node:util";
import { buildNotes, measureBuilt } from "./bundles/built_notes.ts";
import { BUNDLES } from "./bundles/functions.ts";
import { installBuild } from "./bundles/install.ts";
import { type Figure, measure } from "./bundles/measure.ts";

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`;

const isSound = ({ bytes, gzip, ceiling, gzipCeiling, forbidden }: Figure) =>
  bytes <= ceiling && gzip <= gzipCeiling && forbidden.length === 0;

function report(figure: Figure): void {
  const { name, bytes, gzip, goal, ceiling, forbidden } = figure;
  const parts = figure.parts.map(([part, size]) => `${part} ${kilobytes(size)}`).join(", ");
  console.log(
    `${isSound(figure) ? "ok  " : "OVER"} ${kilobytes(bytes).padStart(9)} (gzip ${
      kilobytes(gzip)
    }), ceiling ${kilobytes(ceiling)}, ${
      bytes <= goal ? "goal" : `${kilobytes(bytes - goal)} over the goal of`
    } ${kilobytes(goal)}: ${name}: ${parts}`,
  );
  for (const what of forbidden) console.log(`     contains ${what}`);
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: { package: { type: "string", default: "npm" }, json: { type: "boolean" } },
  });
  const folder = await installBuild(await Deno.realPath(values.package));
  try {
    const figures: Figure[] = [];
    for (const bundle of BUNDLES) figures.push(await measure(folder, bundle));
    figures.push(...measureBuilt(await buildNotes(folder)));
    if (values.json) console.log(JSON.stringify(figures, null, 2));
    else figures.forEach(report);
    if (!figures.every(isSound)) {
      Deno.exitCode = 1;
      console.error(
        "A function is larger than its limit. Find what it contains now; if that is worth its bytes, " +
          "raise the limit in scripts/bundles/functions.ts or scripts/bundles/built_notes.ts.",
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
    await esbuild.stop();
  }
}
