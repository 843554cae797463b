import { isTrellis } from "./evaluate.ts";
import type { HandlerDefinition } from "./handler_definition.ts";
import { createLiteralReader, type LiteralReader } from "./literals.ts";
import type { Project } from "./project.ts";
import { findDeclaration } from "./scopes.ts";
import { ts, unwrap } from "./typescript.ts";

/** A part of the request that the decision of an authorizer may depend on. */
export interface RequestRead {
  /** The REST API identity source: `method.request.header.x-api-key`. */
  readonly source: string;
  readonly node: ts.Node;
}

/** The parts of the request that an authorizer reads. */
export interface AuthorizerReads {
  readonly reads: readonly RequestRead[];
  /** Nodes at which the analysis loses track of the request. */
  readonly unresolved: readonly ts.Node[];
}

/** Objects that contain parts of the request. */
type Part = "request" | "event" | "headers" | "query";

/**
 * A member of such an object: another object, an identity source, or irrelevant for the decision.
 */
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
 * Finds the headers, query parameters and other parts of the request that an authorizer reads.
 * Follows variables, destructuring and project functions that receive the request or a part of it.
 * Static analysis only.
 *
 * @param project The sources.
 * @param definition The definition of the authorizer.
 * @returns The reads as REST API identity sources.
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
    for (const use of listReferences(name, declaration)) followUse(use, part);
  }

  function followUse(use: ts.Expression, part: Part): void {
    const node = skipTypeAssertions(use);
    const { parent } = node;
    if (ts.isPropertyAccessExpression(parent) && parent.expression === node) {
      return followMember(parent, part, parent.name.text);
    }
    if (ts.isElementAccessExpression(parent) && parent.expression === node) {
      return followMember(parent, part, readString(reader, parent.argumentExpression));
    }
    if (ts.isVariableDeclaration(parent) && parent.initializer === node) {
      return followBinding(parent.name, part, parent);
    }
    if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InKeyword) {
      return void readMember(part, readString(reader, parent.left), parent);
    }
    if (ts.isCallExpression(parent) && parent.expression !== node) {
      return followArgument(parent, node, part);
    }
    if (!isPresenceCheck(node)) unresolved.push(node);
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
      const name = call.arguments[1] && readString(reader, call.arguments[1]);
      return void readMember("headers", name, call);
    }
    const fn = callee.kind === "function"
      ? callee.node
      : findNamedFunctionExpression(call.expression);
    const parameter = fn?.parameters[position];
    const isPlain = parameter !== undefined && parameter.dotDotDotToken === undefined &&
      !call.arguments.slice(0, position).some(ts.isSpreadElement);
    if (isPlain) followBinding(parameter.name, part, parameter);
    else unresolved.push(call);
  }

  const own = ts.isCallExpression(definition.node) ? definition.node.arguments[0] : undefined;
  const resolution = own && reader.follow({ node: own });
  if (resolution?.kind !== "function") return { reads, unresolved: [definition.node] };
  const [parameter] = resolution.node.parameters;
  if (parameter !== undefined) followBinding(parameter.name, "request", parameter);
  return { reads, unresolved };
}

/** Finds the function expression that refers to itself by its own name. */
function findNamedFunctionExpression(callee: ts.Expression): ts.FunctionExpression | undefined {
  const declaration = ts.isIdentifier(callee) ? findDeclaration(callee) : undefined;
  if (declaration === undefined || !ts.isFunctionExpression(declaration)) return undefined;
  return declaration;
}

/** Lists the references to a declaration, except in types. */
function listReferences(name: ts.Identifier, declaration: ts.Node): ts.Identifier[] {
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

/** Checks whether an identifier is a value and not a property name or label. */
function isValue(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  return !ts.isMethodDeclaration(parent) && !ts.isLabeledStatement(parent);
}

function skipTypeAssertions(use: ts.Expression): ts.Expression {
  let node = use;
  while (ts.isExpression(node.parent) && unwrap(node.parent) === unwrap(node)) node = node.parent;
  return node;
}

/**
 * Checks whether an expression only tests if the object exists: `headers && …`, `if (query)`,
 * `event === undefined`.
 */
function isPresenceCheck(node: ts.Expression): boolean {
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
  return ts.isComputedPropertyName(name) ? readString(reader, name.expression) : undefined;
}

function readString(reader: LiteralReader, node: ts.Expression): string | undefined {
  const literal = reader.read({ node });
  return literal.kind === "known" && typeof literal.value === "string" ? literal.value : undefined;
}
