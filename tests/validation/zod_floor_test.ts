import { assertMatch } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);
const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));

/** deno.json's import map for files anywhere, with another zod. */
function getImports(zod: string): Record<string, string> {
  const imports: Record<string, string> = {
    "@std/assert": new URL("tests/std_assert/mod.ts", ROOT).href,
  };
  for (const [entry, file] of Object.entries<string>(config.exports)) {
    imports[config.name + entry.slice(1)] = new URL(file, ROOT).href;
  }
  for (const [name, target] of Object.entries<string>({ ...config.imports, zod })) {
    if (!target.startsWith("npm:")) continue;
    imports[name] = target;
    imports[`${name}/`] = `${target.replace("npm:", "npm:/")}/`;
  }
  return imports;
}

Deno.test({
  name: "the tests of validation pass with the oldest zod that the package takes",
  // it runs all of them
  ignore: Deno.env.get("TRELLIS_FULL_TESTS") !== "1" || Deno.env.has("TRELLIS_ZOD_FLOOR"),
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const importMap = join(folder, "imports.json");
      await Deno.writeTextFile(
        importMap,
        JSON.stringify({ imports: getImports(config.imports["zod-floor"]) }),
      );
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "test",
          "-A",
          "--no-check",
          "--no-config",
          "--no-lock",
          "--import-map",
          importMap,
          "tests/validation",
        ],
        cwd: fileURLToPath(ROOT),
        env: { NO_COLOR: "1", TRELLIS_ZOD_FLOOR: "1" },
      }).output();
      const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assertMatch(output, /\nok \| [1-9]\d\d passed /, output.slice(-2000));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
