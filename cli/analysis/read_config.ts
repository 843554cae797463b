import { statSync } from "node:fs";
import { relative } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { CONFIG_NAMES, findConfigFile } from "../config/config_file.ts";
import { resolveConfig, type ResolvedConfig } from "../config/config.ts";
import { createLiteralReader } from "./literals.ts";
import { openProject, type Project } from "./project.ts";
import { ts } from "./typescript.ts";

/**
 * Reads a project's configuration from its text: nothing is run. Without a file the defaults hold.
 *
 * @param root Absolute path of the project's folder.
 * @param file A file that was named, relative to it.
 * @returns The checked configuration.
 * @throws {ConfigurationError} When the file is missing, not written out or wrong.
 * @throws {SyntaxError} When it is no TypeScript; the message has file and line.
 */
export function readConfig(root: string, file?: string): ResolvedConfig {
  const path = findConfigFile(root, file);
  if (path === undefined) return resolveConfig({}, CONFIG_NAMES[0]);
  const name = relative(root, path) || path;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    throw new ConfigurationError(`There is no configuration ${name} (--config)`);
  }
  if (found.isDirectory()) {
    throw new ConfigurationError(`The configuration ${name} is a folder: it must be a file`);
  }
  try {
    return resolveConfig(readDefault(openProject(root), path, name), name);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigurationError(`${name} is nested too deeply to be read`, { cause: error });
  }
}

function readDefault(project: Project, path: string, name: string): unknown {
  const target = project.exportOf(project.read(path), "default");
  const node = target.kind === "expression"
    ? target.node
    : target.kind === "declaration" && ts.isVariableDeclaration(target.node) &&
        ts.isIdentifier(target.node.name)
    ? target.node.name // export { config as default }
    : undefined;
  if (node === undefined) {
    throw new ConfigurationError(
      `${name} exports no configuration: export default defineConfig({ … })`,
    );
  }
  return readWritten(project, node);
}

function readWritten(project: Project, node: ts.Expression): unknown {
  const literal = createLiteralReader(project).read({ node });
  if (literal.kind === "known") return literal.value;
  let whole: ts.Node = literal.node;
  while (ts.isPropertyAccessExpression(whole.parent)) whole = whole.parent;
  throw new ConfigurationError(
    `${project.getPath(whole)}:${
      project.getLine(whole)
    }: the configuration is read and not run, so "${
      whole.getText().slice(0, 60)
    }" must be written out`,
  );
}
