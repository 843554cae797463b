import { ciFiles } from "./ci_files.ts";
import { renderConfig } from "./config_file.ts";
import { commonFiles } from "./common_files.ts";
import {
  type DatabaseName,
  getProjectCommands,
  type PackageManager,
  type ProjectCommands,
  type ProjectRuntime,
  type TemplateName,
} from "./project_choices.ts";
import { PROJECT_DATABASES, type ProjectDatabase } from "./project_database.ts";
import { PROJECT_TEMPLATES, type ProjectTemplate } from "./project_template.ts";
import { renderReadme } from "./readme.ts";
import { NODE_TOOLS, PLUGIN_OVERRIDES, PLUGIN_OVERRIDES_REASON, VERSIONS } from "./versions.ts";

/** Returns the files of a Deno project: contents by path. */
function denoFiles(): Record<string, string> {
  const trellis = "deno run -A @trellis/fn/cli";
  const config = {
    tasks: {
      dev: `${trellis} dev`,
      test: "deno test -A tests",
      check: "deno check src tests trellis.config.ts",
      generate:
        `${trellis} generate permissions && ${trellis} generate infra && ${trellis} generate openapi`,
      build: `${trellis} build`,
      trellis,
      ci: `deno task check && deno task test && ${trellis} check all && ${trellis} build --check`,
    },
    imports: {
      // Deno finds the entry points of a package by its name
      "@trellis/fn": `jsr:@trellis/fn@${VERSIONS["@trellis/fn"]}`,
      "drizzle-orm": `npm:drizzle-orm@${VERSIONS["drizzle-orm"]}`,
      zod: `npm:zod@${VERSIONS.zod}`,
    },
    compilerOptions: { strict: true },
    fmt: { lineWidth: 120 },
    exclude: ["dist/", "dist.maps/", ".trellis/"],
  };
  return {
    "deno.json": `${JSON.stringify(config, null, 2)}\n`,
  };
}

/** Options of {@link createProjectFiles}. */
export interface ProjectOptions {
  /** @default "notes" */
  readonly template?: TemplateName;
  /** @default "postgres" */
  readonly database?: DatabaseName;
  /**
   * What installs the packages of a Node.js project.
   * @default "npm"
   */
  readonly manager?: PackageManager;
  /**
   * True adds a workflow that deploys the project.
   * @default false
   */
  readonly withCi?: boolean;
}

/** Settings of Yarn from version 2 on: TypeScript 7 finds no types in archives. */
const YARN_SETTINGS = "nodeLinker: node-modules\n";

/** What installations write. Of Yarn only its patches, plugins and releases are committed. */
const NODE_IGNORED = `node_modules/
.pnp.*
.yarn/*
!.yarn/patches
!.yarn/plugins
!.yarn/releases
`;

/**
 * Returns the files of a new project. Templates are strings in the code, not files, so that they
 * are available offline from npm, from JSR and in a bundle.
 *
 * @param runtime The local runtime.
 * @returns Contents by path.
 */
export function createProjectFiles(
  name: string,
  runtime: ProjectRuntime,
  { template = "notes", database = "postgres", manager = "npm", withCi = false }: ProjectOptions =
    {},
): ReadonlyMap<string, string> {
  const chosen = PROJECT_TEMPLATES[template];
  const target = PROJECT_DATABASES[database];
  const commands = getProjectCommands(runtime, manager);
  const files = {
    ...(runtime === "node" ? nodeFiles(name, chosen, target, commands) : denoFiles()),
    ".gitignore": (runtime === "node" ? NODE_IGNORED : "") +
      "dist/\ndist.maps/\n.trellis/\n.env\n.terraform/\n*.tfstate*\n*.tfvars\n!infra/stages/*.tfvars\n",
    ...manager === "yarn" && runtime === "node" ? { ".yarnrc.yml": YARN_SETTINGS } : {},
    // with other line endings, the hashes of applied migrations change
    ".gitattributes": "* text=auto eol=lf\n",
    ".env.example":
      "# Copy to .env to override settings. trellis dev generates missing secrets. Never commit .env.\n\n" +
      chosen.envExample + target.envExample,
    "trellis.config.ts": renderConfig(name, chosen.config, target, withCi),
    "README.md": renderReadme(name, chosen, target, commands),
    "src/database.ts": target.source,
    ...commonFiles(chosen.example !== undefined),
    ...chosen.files,
    ...withCi ? ciFiles(name, runtime, { manager, database }) : {},
  };
  return new Map(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1));
}

/**
 * Returns the files of a Node.js project.
 *
 * @param template The kind of project.
 * @param database The database that it is deployed to.
 * @returns Contents by path.
 */
function nodeFiles(
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
