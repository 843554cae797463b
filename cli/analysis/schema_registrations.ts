import { ts } from "./typescript.ts";

const byFile: WeakMap<ts.SourceFile, ReadonlyMap<string, ts.ExpressionStatement[]>> = new WeakMap();

/**
 * Returns the statements that register metadata of a schema: `Note.register(z.globalRegistry, { id:
 * "Note" })` and `z.globalRegistry.add(Note, { … })`.
 *
 * @param declaration The declaration of the schema, at module level.
 */
export function getRegistrations(
  { name, parent }: ts.VariableDeclaration,
): readonly ts.ExpressionStatement[] {
  if (!ts.isIdentifier(name)) return [];
  const source = parent.getSourceFile();
  let known = byFile.get(source);
  if (known === undefined) byFile.set(source, known = read(source));
  return known.get(name.text) ?? [];
}

function read(source: ts.SourceFile): Map<string, ts.ExpressionStatement[]> {
  const found = new Map<string, ts.ExpressionStatement[]>();
  for (const statement of source.statements) {
    if (!ts.isExpressionStatement(statement) || !ts.isCallExpression(statement.expression)) {
      continue;
    }
    const { expression: callee, arguments: given } = statement.expression;
    if (!ts.isPropertyAccessExpression(callee)) continue;
    const owner = callee.name.text === "register"
      ? callee.expression
      : callee.name.text === "add" && /\bglobalRegistry$/.test(callee.expression.getText())
      ? given[0]
      : undefined;
    if (owner === undefined || !ts.isIdentifier(owner)) continue;
    found.set(owner.text, [...found.get(owner.text) ?? [], statement]);
  }
  return found;
}
