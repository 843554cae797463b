import { isTrellis } from "./evaluate.ts";
import type { HandlerDefinition } from "./handler_definition.ts";
import { createLiteralReader, type LiteralReader } from "./literals.ts";
import type { Project } from "./project.ts";
import { findDeclaration } from "./scopes.ts";
import { ts, unwrap } from "./typescript.ts";

/** A part of the request that an authorizer's decision may depend on. */
export interface RequestRead {
  /** As a REST API names it among the identity sources: `method.request.header.x-api-key`. */
  readonly source: string;
  readonly node: ts.Node;
}

/** What an authorizer reads of the request. */
export interface AuthorizerReads {
  readonly reads: readonly RequestRead[];
  /** Places after which the text does not tell what is read. */
  readonly unresolved: readonly ts.Node[];
}

/** Objects that parts of the request are read from. */
type Part = "request" | "event" | "headers" | "query";

/** What a member of an object is: another object, an identity source, or nothing of the request. */
type Member = { readonly part: Part } | { readonly source: string } | "irrelevant" | "unknown";

const AUTHORIZATION = { source: "method.request.header.authorization" };
const PATH = { source: "context.path" };
const METHOD = { source: "context.httpMethod" };

const MEMBERS: Readonly<Record<"request" | "event", Readonly<Record<string, Member>>>> = {
  request: {
    token: AUTHORIZATION,
    headers: { part: "headers" },
    query: { part: "query" },
    event: { part: "event" },
    path: PATH,
    method: METHOD,
    context: "irrelevant",
    metadata: "irrelevant",
  },
  event: {
    authorizationToken: AUTHORIZATION,
    headers: { part: "headers" },
    multiValueHeaders: { part: "headers" },
    queryStringParameters: { part: "query" },
    multiValueQueryStringParameters: { part: "query" },
    path: PATH,
    httpMethod: METHOD,
    type: "irrelevant",
    version: "irrelevant",
  },
};

function getMember(part: Part, name: string): Member {
  if (part === "headers") return { source: `method.request.header.${name.toLowerCase()}` };
  if (part === "query") return { source: `method.request.querystring.${name}` };
  return Object.hasOwn(MEMBERS[part], name) ? MEMBERS[part][name] : "unknown";
}

/**
 * Finds out from the text which headers, query parameters and other parts of the request an
 * authorizer reads. Names, destructuring and functions of the project that get the request or a
 * part of it are followed; nothing is run.
 *
 * @param project The sources.
 * @param definition How the authorizer is made.
 * @returns What it reads, each as a REST API's identity source.
 */
export function findAuthorizerReads(
  project: Project,
  definition: HandlerDefinition,
): AuthorizerReads {
  const reader = createLiteralReader(project);
  const reads: RequestRead[] = [];
  const unresolved: ts.Node[] = [];
  const followed = new Set<ts.Node>();

  function readMember(part: Part, name: string | undefined, node: ts.Node): Part | undefined {
    const member = name === undefined ? "unknown" : getMember(part, name);
    if (member === "unknown") unresolved.push(node);
    else if (member !== "irrelevant" && "source" in member) {
      reads.push({ source: member.source, node });
    } else if (member !== "irrelevant") return member.part;
    return undefined;
  }

  function followBinding(name: ts.BindingName, part: Part, declaration: ts.Node): void {
    if (ts.isIdentifier(name)) return followName(name, part, declaration);
    if (ts.isArrayBindingPattern(name)) return void unresolved.push(name);
    for (const element of name.elements) {
      if (element.dotDotDotToken !== undefined) {
        followBinding(element.name, part, element);
        continue;
      }
      const inner = readMember(part, getKey(reader, element.propertyName ?? element.name), element);
      if (inner !== undefined) followBinding(element.name, inner, element);
    }
  }

  function followName(name: ts.Identifier, part: Part, declaration: ts.Node): void {
    if (followed.has(declaration)) return;
    followed.add(declaration);
    for (const use of getUses(name, declaration)) followUse(use, part);
  }

  function followUse(use: ts.Expression, part: Part): void {
    const node = withoutTypes(use);
    const { parent } = node;
    if (ts.isPropertyAccessExpression(parent) && parent.expression === node) {
      return followMember(parent, part, parent.name.text);
    }
    if (ts.isElementAccessExpression(parent) && parent.expression === node) {
      return followMember(parent, part, getText(reader, parent.argumentExpression));
    }
    if (ts.isVariableDeclaration(parent) && parent.initializer === node) {
      return followBinding(parent.name, part, parent);
    }
    if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InKeyword) {
      return void readMember(part, getText(reader, parent.left), parent);
    }
    if (ts.isCallExpression(parent) && parent.expression !== node) {
      return followArgument(parent, node, part);
    }
    if (!isTested(node)) unresolved.push(node);
  }

  function followMember(access: ts.Expression, part: Part, name: string | undefined): void {
    const inner = readMember(part, name, access);
    if (inner !== undefined) followUse(access, inner);
  }

  function followArgument(call: ts.CallExpression, node: ts.Node, part: Part): void {
    const position = call.arguments.indexOf(node as ts.Expression);
    const callee = reader.follow({ node: call.expression });
    if (
      callee.kind === "package" && isTrellis(callee.module) && callee.name === "getHeader" &&
      part === "event"
    ) {
      const name = call.arguments[1] && getText(reader, call.arguments[1]);
      return void readMember("headers", name, call);
    }
    const fn = callee.kind === "function" ? callee.node : expressionNamed(call.expression);
    const parameter = fn?.parameters[position];
    const isPlain = parameter !== undefined && parameter.dotDotDotToken === undefined &&
      !call.arguments.slice(0, position).some(ts.isSpreadElement);
    if (isPlain) followBinding(parameter.name, part, parameter);
    else unresolved.push(call);
  }

  const own = ts.isCallExpression(definition.node) ? definition.node.arguments[0] : undefined;
  const lead = own && reader.follow({ node: own });
  if (lead?.kind !== "function") return { reads, unresolved: [definition.node] };
  const [parameter] = lead.node.parameters;
  if (parameter !== undefined) followBinding(parameter.name, "request", parameter);
  return { reads, unresolved };
}

/** The function expression that a name inside of it means. */
function expressionNamed(callee: ts.Expression): ts.FunctionExpression | undefined {
  const declaration = ts.isIdentifier(callee) ? findDeclaration(callee) : undefined;
  if (declaration === undefined || !ts.isFunctionExpression(declaration)) return undefined;
  return declaration;
}

/** The names that mean a declaration, outside of types. */
function getUses(name: ts.Identifier, declaration: ts.Node): ts.Identifier[] {
  const uses: ts.Identifier[] = [];
  function visit(node: ts.Node): void {
    if (ts.isTypeNode(node)) return;
    if (ts.isIdentifier(node)) {
      if (
        node.text === name.text && node !== name && isValue(node) &&
        findDeclaration(node) === declaration
      ) {
        uses.push(node);
      }
      return;
    }
    ts.forEachChild(node, visit);
  }
  visit(name.getSourceFile());
  return uses;
}

/** Whether a name stands for a value, and is no key or member of something else. */
function isValue(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  return !ts.isMethodDeclaration(parent) && !ts.isLabeledStatement(parent);
}

function withoutTypes(use: ts.Expression): ts.Expression {
  let node = use;
  while (ts.isExpression(node.parent) && unwrap(node.parent) === unwrap(node)) node = node.parent;
  return node;
}

/**
 * Whether only the presence of the object is looked at: `headers && …`, `if (query)`, `event ===
 * undefined`.
 */
function isTested(node: ts.Expression): boolean {
  const { parent } = node;
  if (
    ts.isPrefixUnaryExpression(parent) || ts.isTypeOfExpression(parent) ||
    ts.isExpressionStatement(parent)
  ) {
    return true;
  }
  if (ts.isIfStatement(parent)) return true;
  if (ts.isConditionalExpression(parent)) return parent.condition === node;
  if (!ts.isBinaryExpression(parent)) return false;
  const { kind } = parent.operatorToken;
  if (kind === ts.SyntaxKind.AmpersandAmpersandToken) return parent.left === node;
  return kind === ts.SyntaxKind.EqualsEqualsEqualsToken ||
    kind === ts.SyntaxKind.ExclamationEqualsEqualsToken ||
    kind === ts.SyntaxKind.EqualsEqualsToken || kind === ts.SyntaxKind.ExclamationEqualsToken;
}

function getKey(reader: LiteralReader, name: ts.PropertyName | ts.BindingName): string | undefined {
  if (ts.isIdentifier(name) || ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)) {
    return name.text;
  }
  return ts.isComputedPropertyName(name) ? getText(reader, name.expression) : undefined;
}

function getText(reader: LiteralReader, node: ts.Expression): string | undefined {
  const literal = reader.read({ node });
  return literal.kind === "known" && typeof literal.value === "string" ? literal.value : undefined;
}
