import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { ConfigurationError } from "../../errors/mod.ts";
import { resolveConfig, type ResolvedConfig } from "../config/config.ts";
import { openProject, type Project } from "./project.ts";
import { ts, unwrap } from "./typescript.ts";

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
  return resolveConfig(readLiteral(project, target.node), name);
}

function readLiteral(project: Project, expression: ts.Expression): unknown {
  const node = unwrap(expression);
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isNumericLiteral(node)) return Number(node.text.replaceAll("_", ""));
  if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
  if (node.kind === ts.SyntaxKind.FalseKeyword) return false;
  if (node.kind === ts.SyntaxKind.NullKeyword) return null;
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken) {
    return -Number(readLiteral(project, node.operand));
  }
  if (ts.isArrayLiteralExpression(node)) {
    return node.elements.flatMap((element) =>
      ts.isSpreadElement(element)
        ? readLiteral(project, element.expression) as unknown[]
        : [readLiteral(project, element)]
    );
  }
  if (ts.isObjectLiteralExpression(node)) return readObject(project, node);
  if (ts.isTemplateExpression(node)) {
    const parts = node.templateSpans.map((span) => String(readLiteral(project, span.expression)) + span.literal.text);
    return node.head.text + parts.join("");
  }
  if (ts.isIdentifier(node)) {
    if (node.text === "undefined") return undefined;
    const target = project.targetOf(node);
    if (target.kind === "expression") return readLiteral(project, target.node);
    if (
      target.kind === "declaration" && ts.isVariableDeclaration(target.node) && target.node.initializer !== undefined
    ) {
      return readLiteral(project, target.node.initializer);
    }
  }
  if (ts.isPropertyAccessExpression(node)) {
    // DatabaseOperation.Select
    if (node.expression.getText() === "DatabaseOperation") return node.name.text.toUpperCase();
    const owner = readLiteral(project, node.expression);
    if (typeof owner === "object" && owner !== null && Object.hasOwn(owner, node.name.text)) {
      return (owner as Record<string, unknown>)[node.name.text];
    }
  }
  if (ts.isCallExpression(node) && node.expression.getText() === "defineConfig" && node.arguments.length === 1) {
    return readLiteral(project, node.arguments[0]);
  }
  let whole: ts.Node = node;
  while (ts.isPropertyAccessExpression(whole.parent)) whole = whole.parent;
  throw new ConfigurationError(
    `${project.pathOf(node)}:${project.lineOf(node)}: the configuration is read and not run, so "${
      whole.getText().slice(0, 60)
    }" must be written out`,
  );
}

function readObject(project: Project, node: ts.ObjectLiteralExpression): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const property of node.properties) {
    if (ts.isSpreadAssignment(property)) Object.assign(result, readLiteral(project, property.expression));
    else if (ts.isShorthandPropertyAssignment(property)) {
      result[property.name.text] = readLiteral(project, property.name);
    } else if (ts.isPropertyAssignment(property) && !ts.isComputedPropertyName(property.name)) {
      result[property.name.text] = readLiteral(project, property.initializer);
    } else {
      throw new ConfigurationError(
        `${project.pathOf(property)}:${
          project.lineOf(property)
        }: the configuration is read and not run: write the value out`,
      );
    }
  }
  return { ...result };
}
