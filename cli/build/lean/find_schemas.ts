import type { Project, Target } from "../../analysis/project.ts";
import { findNamespaceMember } from "../../analysis/slice_names.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { type ValueVisitor, visitValues } from "../../analysis/value_references.ts";
import { isTrellis } from "../../analysis/values.ts";

/**
 * The functions that read a configuration with a `schema`: the index of the argument, and what reads the
 * tables.
 */
const READERS: ReadonlyMap<string, readonly [index: number, use: SourceSchema["use"]]> = new Map([
  ["getDrizzleClient", [0, "client"]],
  ["configureSessionAuth", [1, "auth"]],
  ["createAuth", [1, "auth"]],
  ["getAuth", [1, "auth"]],
  ["configureApiKeyAuth", [1, "auth"]],
]);

/** The `schema` of a configuration that only functions of this package read. */
export interface SourceSchema {
  /** Whether a database client or a check of auth reads it. */
  readonly use: "client" | "auth";
  /** Its file with its position: `src/database.ts#9:3`. */
  readonly key: string;
  /** The property of the configuration. */
  readonly property: ts.PropertyAssignment | ts.ShorthandPropertyAssignment;
  /** The value. */
  readonly value: ts.Expression;
}

/**
 * Finds the schemas of configurations of database clients and of auth: of objects that are arguments of
 * {@link READERS}, or constants that are used for nothing else.
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
        if (isConfiguration(project, name) || ts.isExportSpecifier(name.parent)) return;
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
      const reader = ts.isCallExpression(node) ? getReader(project, node) : undefined;
      if (reader === undefined) return;
      const config = unwrap(reader.argument);
      const declared = ts.isIdentifier(config) ? getConstant(project, config) : undefined;
      const object = declared?.initializer === undefined ? config : unwrap(declared.initializer);
      const schema = readSchema(project, object);
      if (schema !== undefined) found.set(declared ?? config, { ...schema, use: reader.use });
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

function isConfiguration(project: Project, name: ts.Identifier): boolean {
  const { parent } = name;
  return ts.isCallExpression(parent) && getReader(project, parent)?.argument === name;
}

/** Returns the argument of a call with a configuration. */
function getReader(
  project: Project,
  { expression, arguments: given }: ts.CallExpression,
): { readonly argument: ts.Expression; readonly use: SourceSchema["use"] } | undefined {
  if (!ts.isIdentifier(expression)) return undefined;
  const target = project.getTarget(expression);
  if (target.kind !== "package" || !isTrellis(target.module)) return undefined;
  const [index, use] = READERS.get(target.name) ?? [];
  if (index === undefined || use === undefined || given.length <= index) return undefined;
  return given.some(ts.isSpreadElement) ? undefined : { argument: given[index], use };
}

function readSchema(
  project: Project,
  object: ts.Expression,
): Omit<SourceSchema, "use"> | undefined {
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
