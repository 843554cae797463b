import type { Project, Target } from "../../analysis/project.ts";
import { findNamespaceMember } from "../../analysis/slice_names.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { type ValueVisitor, visitValues } from "../../analysis/value_references.ts";
import { isTrellis } from "../../analysis/values.ts";

/** The `schema` of a configuration that only `getDrizzleClient` reads. */
export interface SourceSchema {
  /** Its file with its position: `src/database.ts#9:3`. */
  readonly key: string;
  /** The property of the configuration. */
  readonly property: ts.PropertyAssignment | ts.ShorthandPropertyAssignment;
  /** The value. */
  readonly value: ts.Expression;
}

/**
 * Finds the schemas of database configurations: of objects that are arguments of `getDrizzleClient`, or
 * constants that are used for nothing else.
 *
 * @param modules All modules in which a configuration may be used.
 */
export function findSchemas(project: Project, modules: readonly SourceModule[]): SourceSchema[] {
  const found = new Map<ts.Node, SourceSchema>();
  const others = new Set<ts.Node>();
  for (const { source } of modules) {
    const addOther = (target: Target | undefined): void => {
      if (target?.kind === "declaration") others.add(target.node);
      if (target?.kind !== "namespace") return;
      // as a value, it gives all its constants away
      const { module } = target;
      for (const name of project.getExportNames(module)) addOther(project.findExport(module, name));
    };
    const visitor: ValueVisitor = {
      name: (name) => {
        if (isClientArgument(project, name) || ts.isExportSpecifier(name.parent)) return;
        addOther(findNamespaceMember(project, name));
      },
      member: (node) => {
        const target = findNamespaceMember(project, node);
        if (target !== undefined) addOther(target);
        return target !== undefined;
      },
      special: () => {},
    };
    for (const statement of source.statements) {
      if (!ts.isImportDeclaration(statement)) visitValues(statement, visitor);
    }
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      if (!ts.isCallExpression(node) || !isGetClient(project, node)) return;
      const config = node.arguments[0] && unwrap(node.arguments[0]);
      if (config === undefined) return;
      const declared = ts.isIdentifier(config) ? getConstant(project, config) : undefined;
      const object = declared?.initializer === undefined ? config : unwrap(declared.initializer);
      const schema = readSchema(project, object);
      if (schema !== undefined) found.set(declared ?? config, schema);
    };
    visit(source);
  }
  return [...found].filter(([node]) => !others.has(node)).map(([, schema]) => schema);
}

function getConstant(project: Project, name: ts.Node): ts.VariableDeclaration | undefined {
  if (!ts.isIdentifier(name)) return undefined;
  const target = project.getTarget(name);
  if (target.kind !== "declaration" || !ts.isVariableDeclaration(target.node)) return undefined;
  const { parent } = target.node;
  const isConst = ts.isVariableDeclarationList(parent) && (parent.flags & ts.NodeFlags.Const) !== 0;
  return isConst ? target.node : undefined;
}

function isClientArgument(project: Project, name: ts.Identifier): boolean {
  const { parent } = name;
  return ts.isCallExpression(parent) && parent.arguments[0] === name &&
    isGetClient(project, parent);
}

function isGetClient(project: Project, { expression }: ts.CallExpression): boolean {
  if (!ts.isIdentifier(expression)) return false;
  const target = project.getTarget(expression);
  return target.kind === "package" && isTrellis(target.module) &&
    target.name === "getDrizzleClient";
}

function readSchema(project: Project, object: ts.Expression): SourceSchema | undefined {
  if (!ts.isObjectLiteralExpression(object)) return undefined;
  const named = object.properties.filter((each) => each.name?.getText() === "schema");
  const [property] = named;
  // a spread or a computed key may set the property as well
  const isPlain = object.properties.every((each) =>
    !ts.isSpreadAssignment(each) && !ts.isComputedPropertyName(each.name)
  );
  if (named.length !== 1 || !isPlain) return undefined;
  if (!ts.isPropertyAssignment(property) && !ts.isShorthandPropertyAssignment(property)) {
    return undefined;
  }
  const { line, character } = property.getSourceFile().getLineAndCharacterOfPosition(
    property.getStart(),
  );
  const key = `${project.getPath(property)}#${line + 1}:${character + 1}`;
  const value = ts.isPropertyAssignment(property) ? property.initializer : property.name;
  return { key, property, value };
}
