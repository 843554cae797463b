import { ts } from "./typescript.ts";

/** Returns the class that a class extends. */
export function getBaseClass(
  { heritageClauses }: ts.ClassLikeDeclaration,
): ts.Expression | undefined {
  const clause = heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);
  return clause?.types[0]?.expression;
}

/** Returns the constructor of a class, if it declares one with a body. */
export function getConstructor(
  { members }: ts.ClassLikeDeclaration,
): ts.ConstructorDeclaration | undefined {
  return members.find((member): member is ts.ConstructorDeclaration =>
    ts.isConstructorDeclaration(member) && member.body !== undefined
  );
}
