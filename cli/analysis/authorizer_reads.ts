import { isTrellis } from "../project/resolve_module.ts";
import type { Evaluator } from "./values.ts";
import type { HandlerDefinition } from "./handler_definition.ts";
import { createEvaluator } from "./evaluate.ts";
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
 * @returns The reads as REST API identity sources.
 */
export function findAuthorizerReads(
  project: Project,
  definition: HandlerDefinition,
): AuthorizerReads {
  const evaluator = createEvaluator(project);
  const own = ts.isCallExpression(definition.node) ? definition.node.arguments[0] : undefined;
  const fn = own && evaluator.evaluate(own);
  if (fn?.kind !== "function") return { reads: [], unresolved: [definition.node] };
  const tracker = new RequestTracker(evaluator);
  const [parameter] = fn.node.parameters;
  if (parameter !== undefined) tracker.followBinding(parameter.name, "request", parameter);
  return tracker;
}

/** Follows the request, and the objects in it, through the code. */
class RequestTracker implements AuthorizerReads {
  readonly #evaluator: Evaluator;
  readonly #followed = new Set<ts.Node>();
  readonly reads: RequestRead[] = [];
  readonly unresolved: ts.Node[] = [];

  constructor(evaluator: Evaluator) {
    this.#evaluator = evaluator;
  }

  followBinding(name: ts.BindingName, part: Part, declaration: ts.Node): void {
    if (ts.isIdentifier(name)) return this.#followName(name, part, declaration);
    if (ts.isArrayBindingPattern(name)) return void this.unresolved.push(name);
    for (const element of name.elements) {
      if (element.dotDotDotToken !== undefined) {
        this.followBinding(element.name, part, element);
        continue;
      }
      const key = this.#evaluator.getKey((element.propertyName ?? element.name) as ts.PropertyName);
      const inner = this.#readMember(part, key, element);
      if (inner !== undefined) this.followBinding(element.name, inner, element);
    }
  }

  #readMember(part: Part, name: string | undefined, node: ts.Node): Part | undefined {
    const member = name === undefined ? "unknown" : getMember(part, name);
    if (member === "unknown") this.unresolved.push(node);
    else if (member !== "irrelevant" && "source" in member) {
      this.reads.push({ source: member.source, node });
    } else if (member !== "irrelevant") return member.part;
    return undefined;
  }

  #followName(name: ts.Identifier, part: Part, declaration: ts.Node): void {
    if (this.#followed.has(declaration)) return;
    this.#followed.add(declaration);
    for (const use of listReferences(name, declaration)) this.#followUse(use, part);
  }

  #followUse(use: ts.Expression, part: Part): void {
    const node = skipTypeAssertions(use);
    const { parent } = node;
    if (ts.isPropertyAccessExpression(parent) && parent.expression === node) {
      return this.#followMember(parent, part, parent.name.text);
    }
    if (ts.isElementAccessExpression(parent) && parent.expression === node) {
      const name = this.#evaluator.readText(parent.argumentExpression);
      return this.#followMember(parent, part, name);
    }
    if (ts.isVariableDeclaration(parent) && parent.initializer === node) {
      return this.followBinding(parent.name, part, parent);
    }
    if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InKeyword) {
      return void this.#readMember(part, this.#evaluator.readText(parent.left), parent);
    }
    if (ts.isCallExpression(parent) && parent.expression !== node) {
      return this.#followArgument(parent, node, part);
    }
    if (!isPresenceCheck(node)) this.unresolved.push(node);
  }

  #followMember(access: ts.Expression, part: Part, name: string | undefined): void {
    const inner = this.#readMember(part, name, access);
    if (inner !== undefined) this.#followUse(access, inner);
  }

  #followArgument(call: ts.CallExpression, node: ts.Node, part: Part): void {
    const position = call.arguments.indexOf(node as ts.Expression);
    const callee = this.#evaluator.evaluate(call.expression);
    if (
      callee.kind === "package" && isTrellis(callee.module) && callee.name === "getHeader" &&
      part === "event"
    ) {
      const name = call.arguments[1] && this.#evaluator.readText(call.arguments[1]);
      return void this.#readMember("headers", name, call);
    }
    const parameter = callee.kind === "function" ? callee.node.parameters[position] : undefined;
    const isPlain = parameter !== undefined && parameter.dotDotDotToken === undefined &&
      !call.arguments.slice(0, position).some(ts.isSpreadElement);
    if (isPlain) this.followBinding(parameter.name, part, parameter);
    else this.unresolved.push(call);
  }
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
