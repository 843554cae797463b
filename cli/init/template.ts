import { ciFiles } from "./ci_files.ts";
import { renderConfig } from "./config_file.ts";
import { commonFiles } from "./common_files.ts";
import { denoFiles } from "./deno_files.ts";
import { nodeFiles } from "./node_files.ts";
import {
  type DatabaseName,
  getProjectCommands,
  type PackageManager,
  type ProjectRuntime,
  type TemplateName,
} from "./project_choices.ts";
import { PROJECT_DATABASES } from "./project_database.ts";
import { PROJECT_TEMPLATES } from "./project_template.ts";
import { renderReadme } from "./readme.ts";

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
