import type { CallExpression, Identifier, Pattern } from "acorn";
import { bindsName, findValue } from "../project/declarations.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import {
  type AnyNode,
  type FunctionNode,
  isFunction,
  isReference,
  unwrap,
  visitNodes,
} from "../sources/syntax.ts";
import type { AuthorizerInputs } from "./infra_plan.ts";

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
 *
 * @returns The reads as REST API identity sources.
 */
export function findAuthorizerReads(fn: LoadedFunction): AuthorizerInputs {
  const followed = new Set<AnyNode>();
  const reads: { source: string; place: string }[] = [];
  const unresolved: string[] = [];
  const call = fn.handler && fn.findCall(fn.handler);
  const own = findFunction(call?.arguments[0]);
  if (own === undefined) {
    const { file, line } = fn.handler?.place ?? { file: fn.file, line: 1 };
    return { reads: [], unresolved: [`${file}:${line}`] };
  }
  const [parameter] = own.params;
  if (parameter !== undefined) followBinding(parameter, "request", own);
  return { reads, unresolved };

  /** Returns the function that an expression gives. */
  function findFunction(expression: AnyNode | undefined): FunctionNode | undefined {
    const node = expression && unwrap(expression);
    if (isFunction(node)) return node;
    if (node?.type !== "Identifier") return undefined;
    // a function expression calls itself by its own name
    for (let at = fn.syntax.getParent(node); at; at = fn.syntax.getParent(at)) {
      if (at.type === "FunctionExpression" && at.id?.name === node.name) return at;
    }
    const found = findValue(fn.syntax, node);
    return found === node ? undefined : findFunction(found);
  }

  function getPlace(node: AnyNode): string {
    const { file, line } = fn.getPlace(node);
    return `${file}:${line}`;
  }

  function lose(node: AnyNode): void {
    unresolved.push(getPlace(node));
  }

  /** Follows the names that a pattern gives a part of the request, in a function. */
  function followBinding(pattern: Pattern, part: Part, scope: AnyNode): void {
    if (pattern.type === "AssignmentPattern") return followBinding(pattern.left, part, scope);
    if (pattern.type === "Identifier") return followName(pattern, part, scope);
    if (pattern.type !== "ObjectPattern") return lose(pattern);
    for (const property of pattern.properties) {
      if (property.type === "RestElement") {
        followBinding(property.argument, part, scope);
        continue;
      }
      const name = getName(property.key, property.computed);
      const inner = readMember(part, name, property);
      if (inner !== undefined) followBinding(property.value, inner, scope);
    }
  }

  function getName(key: AnyNode, isComputed: boolean): string | undefined {
    if (!isComputed && key.type === "Identifier") return key.name;
    const found = fn.evaluate(key);
    return found.isKnown && typeof found.value === "string" ? found.value : undefined;
  }

  function readMember(part: Part, name: string | undefined, node: AnyNode): Part | undefined {
    const member = name === undefined ? "unknown" : getMember(part, name);
    if (member === "unknown") lose(node);
    else if (member !== "irrelevant" && "source" in member) {
      reads.push({ source: member.source, place: getPlace(node) });
    } else if (member !== "irrelevant") return member.part;
    return undefined;
  }

  function followName(declaration: Identifier, part: Part, scope: AnyNode): void {
    if (followed.has(declaration)) return;
    followed.add(declaration);
    const { name } = declaration;
    visitNodes(scope, (node) => {
      // a parameter of the name hides that of the code around it
      const isHidden = isFunction(node) && node.params.some((each) => bindsName(each, name));
      if (node !== scope && isHidden) return false;
      if (node.type !== "Identifier" || node.name !== name || node === declaration) return true;
      if (isValue(node)) followUse(node, part);
      return false;
    });
  }

  /** Checks whether an identifier is a value and not the name of a member or a declaration. */
  function isValue(node: AnyNode): boolean {
    const parent = fn.syntax.getParent(node);
    if (parent === undefined || !isReference(node, parent)) return false;
    if (parent.type === "Property") {
      return parent.value === node &&
        fn.syntax.getParent(parent)?.type !== "ObjectPattern";
    }
    if (parent.type === "VariableDeclarator") return parent.init === node;
    if (parent.type === "AssignmentPattern") return parent.right === node;
    return parent.type !== "RestElement" && !(isFunction(parent) && parent.body !== node);
  }

  function followUse(node: AnyNode, part: Part): void {
    const parent = fn.syntax.getParent(node)!;
    switch (parent.type) {
      case "ChainExpression":
        return followUse(parent, part);
      case "MemberExpression": {
        if (parent.object !== node) break;
        const name = getName(parent.property, parent.computed);
        const inner = readMember(part, name, parent);
        if (inner !== undefined) followUse(parent, inner);
        return;
      }
      case "VariableDeclarator":
        return followBinding(parent.id, part, getScope(parent));
      case "BinaryExpression":
        if (parent.operator === "in" && parent.right === node) {
          return void readMember(part, getName(parent.left, true), parent);
        }
        break;
      case "CallExpression":
        if (parent.callee !== node) return followArgument(parent, node, part);
    }
    if (!isPresenceCheck(node, parent)) lose(node);
  }

  function getScope(node: AnyNode): AnyNode {
    let at = node;
    while (!isFunction(at) && at.type !== "Program") at = fn.syntax.getParent(at)!;
    return at;
  }

  function followArgument(call: CallExpression, node: AnyNode, part: Part): void {
    const { callee, arguments: args } = call;
    const position = args.findIndex((each) => each === node);
    if (part === "event" && fn.syntax.findExport(callee)?.name === "getHeader") {
      const name = args[1] && getName(args[1], true);
      return void readMember("headers", name, call);
    }
    const called = findFunction(callee);
    const parameter = called?.params[position];
    const isPlain = parameter !== undefined && parameter.type !== "RestElement" &&
      !args.slice(0, position).some(({ type }) => type === "SpreadElement");
    if (isPlain) followBinding(parameter, part, called!);
    else lose(call);
  }
}

/**
 * Checks whether an expression only tests if the object exists: `headers && …`, `if (query)`,
 * `event === undefined`.
 */
function isPresenceCheck(node: AnyNode, parent: AnyNode): boolean {
  switch (parent.type) {
    case "UnaryExpression":
    case "ExpressionStatement":
    case "IfStatement":
      return true;
    case "ConditionalExpression":
      return parent.test === node;
    case "LogicalExpression":
      return parent.operator === "&&" && parent.left === node;
    case "BinaryExpression":
      return /^[!=]==?$/.test(parent.operator);
    default:
      return false;
  }
}
