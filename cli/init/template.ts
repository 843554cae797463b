import { ciFiles } from "./ci_files.ts";
import { renderConfig } from "./config_file.ts";
import { COMMON_FILES } from "./common_files.ts";
import { denoFiles } from "./deno_files.ts";
import { nodeFiles } from "./node_files.ts";
import type { ProjectRuntime } from "./project_runtime.ts";
import { PROJECT_TEMPLATES } from "./project_template.ts";
import type { TemplateName } from "./template_name.ts";

/** Options of {@link createProjectFiles}. */
export interface ProjectOptions {
  /** @default "notes" */
  readonly template?: TemplateName;
  /**
   * True adds a workflow that deploys the project.
   * @default false
   */
  readonly withCi?: boolean;
}

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
  { template = "notes", withCi = false }: ProjectOptions = {},
): ReadonlyMap<string, string> {
  const chosen = PROJECT_TEMPLATES[template];
  const files = {
    ...(runtime === "node" ? nodeFiles(name, chosen) : denoFiles(name, chosen)),
    ".gitignore": (runtime === "node" ? "node_modules/\n" : "") +
      "dist/\ndist.maps/\n.trellis/\n.env\n.terraform/\n*.tfstate*\n*.tfvars\n!infra/stages/*.tfvars\n",
    // with other line endings, the hashes of applied migrations change
    ".gitattributes": "* text=auto eol=lf\n",
    ".env.example":
      "# Copy to .env to override settings. trellis dev generates missing secrets. Never commit .env.\n\n" +
      chosen.envExample,
    "trellis.config.ts": renderConfig(name, chosen.config, withCi),
    ...COMMON_FILES,
    ...chosen.files,
    ...withCi ? ciFiles(name, runtime) : {},
  };
  return new Map(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1));
}
