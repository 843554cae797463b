import { statSync } from "node:fs";
import { relative } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { CONFIG_NAMES, findConfigFile } from "../config/config_file.ts";
import { resolveConfig, type ResolvedConfig } from "../config/config.ts";
import { createEvaluator } from "./evaluate.ts";
import { Project } from "./project.ts";
import { ts } from "./typescript.ts";

/**
 * Reads a project's configuration statically, without executing it. Without a file, the defaults
 * apply.
 *
 * @param file The file given with `--config`, relative to the root.
 * @returns The validated configuration.
 * @throws {ConfigurationError} If the file is missing or invalid, or a value is not a literal.
 * @throws {SyntaxError} If it cannot be parsed; the message contains file and line.
 */
export function readConfig(root: string, file?: string): ResolvedConfig {
  const path = findConfigFile(root, file);
  if (path === undefined) return resolveConfig({}, CONFIG_NAMES[0]);
  const name = relative(root, path) || path;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    throw new ConfigurationError(`The configuration ${name} does not exist (--config)`);
  }
  if (found.isDirectory()) {
    throw new ConfigurationError(`The configuration ${name} is a folder, not a file`);
  }
  try {
    return resolveConfig(readDefault(new Project(root), path, name), name);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigurationError(`${name} is nested too deeply`, { cause: error });
  }
}

function readDefault(project: Project, path: string, name: string): unknown {
  const target = project.findExport(project.read(path), "default");
  const node = target.kind === "expression"
    ? target.node
    : target.kind === "declaration" && ts.isVariableDeclaration(target.node) &&
        ts.isIdentifier(target.node.name)
    ? target.node.name // export { config as default }
    : undefined;
  if (node === undefined) {
    throw new ConfigurationError(
      `${name} does not export a configuration. Write export default defineConfig({ … })`,
    );
  }
  return readLiteral(project, node);
}

function readLiteral(project: Project, node: ts.Expression): unknown {
  const literal = createEvaluator(project).read(node);
  if (literal.kind === "known") return literal.value;
  let whole: ts.Node = literal.node;
  while (ts.isPropertyAccessExpression(whole.parent)) whole = whole.parent;
  throw new ConfigurationError(
    `${project.getPath(whole)}:${project.getLine(whole)}: "${
      whole.getText().slice(0, 60)
    }" must be a literal, because the configuration is not executed`,
  );
}
