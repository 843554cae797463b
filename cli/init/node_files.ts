import type { ProjectCommands } from "./project_choices.ts";
import type { ProjectDatabase } from "./project_database.ts";
import type { ProjectTemplate } from "./project_template.ts";
import { NODE_TOOLS, PLUGIN_OVERRIDES, PLUGIN_OVERRIDES_REASON, VERSIONS } from "./versions.ts";

/**
 * Returns the files of a Node.js project.
 *
 * @param template The kind of project.
 * @param database The database that it is deployed to.
 * @returns Contents by path.
 */
export function nodeFiles(
  name: string,
  template: ProjectTemplate,
  database: ProjectDatabase,
  { run, test }: ProjectCommands,
): Record<string, string> {
  const pick = (...names: (keyof typeof VERSIONS)[]) =>
    Object.fromEntries(names.map((each) => [each, VERSIONS[each]]));
  const manifest = {
    name,
    private: true,
    type: "module",
    engines: { node: ">=20.19" },
    scripts: {
      dev: "trellis dev",
      test: "node --import tsx --test tests/*.test.ts",
      check: "tsc",
      generate:
        "trellis generate permissions && trellis generate infra && trellis generate openapi",
      build: "trellis build",
      ci: `${run} check && ${test} && trellis check all && trellis build --check`,
    },
    dependencies: pick(
      ...new Set(
        ([...template.packages, ...database.packages, "@trellis/fn", "drizzle-orm", "zod"] as const)
          .toSorted(),
      ),
    ),
    devDependencies: {
      ...pick(...database.tools, "@electric-sql/pglite"),
      "@types/node": NODE_TOOLS["@types/node"],
      ...pick("acorn", "esbuild", "libpg-query"),
      tsx: NODE_TOOLS.tsx,
      typescript: NODE_TOOLS.typescript,
    },
    ...template.packages.includes("better-auth") && {
      "//overrides": PLUGIN_OVERRIDES_REASON,
      overrides: PLUGIN_OVERRIDES,
    },
  };
  const compiler = {
    compilerOptions: {
      target: "ES2023",
      module: "NodeNext",
      allowImportingTsExtensions: true,
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      verbatimModuleSyntax: true,
      erasableSyntaxOnly: true,
      types: ["node"],
    },
    include: ["src", "tests", "trellis.config.ts"],
  };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "tsconfig.json": `${JSON.stringify(compiler, null, 2)}\n`,
  };
}
