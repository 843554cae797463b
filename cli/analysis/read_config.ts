import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { ConfigurationError } from "../../errors/mod.ts";
import { resolveConfig, type ResolvedConfig } from "../config/config.ts";
import { createLiteralReader } from "./literals.ts";
import { openProject, type Project } from "./project.ts";
import { ts } from "./typescript.ts";

const NAMES = ["trellis.config.ts", "trellis.config.mts", "trellis.config.js", "trellis.config.mjs"] as const;

/**
 * Reads a project's configuration from its text: nothing is run. Without a file the defaults hold.
 *
 * @param root Absolute path of the project's folder.
 * @param file A file that was named, relative to it.
 * @returns The checked configuration.
 * @throws {ConfigurationError} When the file is missing, not written out or wrong.
 */
export function readConfig(root: string, file?: string): ResolvedConfig {
  const path = file === undefined
    ? NAMES.map((name) => join(root, name)).find((candidate) => existsSync(candidate))
    : resolve(root, file);
  if (path === undefined) return resolveConfig({}, NAMES[0]);
  const name = relative(root, path) || path;
  if (!existsSync(path)) throw new ConfigurationError(`There is no configuration ${name} (--config)`);
  const project = openProject(root);
  const target = project.exportOf(project.read(path), "default");
  if (target.kind !== "expression") {
    throw new ConfigurationError(`${name} exports no configuration: export default defineConfig({ … })`);
  }
  return resolveConfig(readWritten(project, target.node), name);
}

function readWritten(project: Project, node: ts.Expression): unknown {
  const literal = createLiteralReader(project).read({ node });
  if (literal.kind === "known") return literal.value;
  let whole: ts.Node = literal.node;
  while (ts.isPropertyAccessExpression(whole.parent)) whole = whole.parent;
  throw new ConfigurationError(
    `${project.pathOf(whole)}:${project.lineOf(whole)}: the configuration is read and not run, so "${
      whole.getText().slice(0, 60)
    }" must be written out`,
  );
}
