import { ts } from "../analysis/typescript.ts";

const { factory } = ts;

/** Members of an operation that say nothing if they are `never` or empty. */
const OPERATION_PARTS: readonly string[] = ["parameters", "requestBody"];

/**
 * Removes what openapi-typescript writes for each operation and what neither openapi-fetch nor a
 * reader needs: methods that a path does not have, kinds of parameters that an operation does not
 * have, and headers of any name. This more than halves the text that an editor parses.
 *
 * @returns The declarations with smaller interfaces `paths`, `components` and `operations`.
 */
export function pruneTypes(nodes: ts.Node[]): ts.Node[] {
  return nodes.map((node) => {
    if (!ts.isInterfaceDeclaration(node)) return node;
    const prune = PRUNERS[node.name.text];
    return prune === undefined ? node : factory.updateInterfaceDeclaration(
      node,
      node.modifiers,
      node.name,
      node.typeParameters,
      node.heritageClauses,
      node.members.map(prune),
    );
  });
}

const PRUNERS: Readonly<Record<string, (member: ts.TypeElement) => ts.TypeElement>> = {
  paths: (path) => mapMembers(path, dropNever),
  operations: pruneOperation,
  components: (part) =>
    getName(part) === "responses" ? mapMembers(part, (all) => all.map(pruneResponse)) : part,
};

function pruneOperation(operation: ts.TypeElement): ts.TypeElement {
  return mapMembers(operation, (parts) => parts.map(pruneOperationPart).filter(saysSomething));
}

function pruneOperationPart(part: ts.TypeElement): ts.TypeElement {
  if (getName(part) === "parameters") return mapMembers(part, dropNever);
  if (getName(part) !== "responses") return part;
  return mapMembers(part, (all) => all.map(pruneResponse));
}

function saysSomething(part: ts.TypeElement): boolean {
  return !OPERATION_PARTS.includes(getName(part)) || !isNever(part) && !isEmpty(part);
}

function isEmpty(member: ts.TypeElement): boolean {
  const type = getType(member);
  return type !== undefined && ts.isTypeLiteralNode(type) && type.members.length === 0;
}

/** Removes headers of any name from a response. */
function pruneResponse(response: ts.TypeElement): ts.TypeElement {
  return mapMembers(response, (parts) =>
    parts.filter((part) => {
      const type = getType(part);
      return getName(part) !== "headers" || type === undefined || !ts.isTypeLiteralNode(type) ||
        !type.members.every(ts.isIndexSignatureDeclaration);
    }));
}

function dropNever(members: readonly ts.TypeElement[]): ts.TypeElement[] {
  return members.filter((member) => !isNever(member));
}

function isNever(member: ts.TypeElement): boolean {
  return getType(member)?.kind === ts.SyntaxKind.NeverKeyword;
}

/** Changes the members of a property whose type is an object. */
function mapMembers(
  member: ts.TypeElement,
  change: (members: readonly ts.TypeElement[]) => readonly ts.TypeElement[],
): ts.TypeElement {
  const type = getType(member);
  if (type === undefined || !ts.isTypeLiteralNode(type)) return member;
  const changed = factory.updateTypeLiteralNode(
    type,
    factory.createNodeArray(change([...type.members])),
  );
  const property = member as ts.PropertySignature;
  return factory.updatePropertySignature(
    property,
    property.modifiers,
    property.name,
    property.questionToken,
    changed,
  );
}

function getType(member: ts.TypeElement): ts.TypeNode | undefined {
  return ts.isPropertySignature(member) ? member.type : undefined;
}

function getName({ name }: ts.TypeElement): string {
  return name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? name.text : "";
}
