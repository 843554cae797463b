import { isAssignment } from "./assignments.ts";
import { collectCall } from "./collect_call.ts";
import { collectProcess, isProcessModule } from "./collect_environment.ts";
import { collectRequiredConstant, isRequiredConstant } from "./required_constants.ts";
import { collectName } from "./collect_target.ts";
import { collectThis, findEnclosingClass } from "./collect_this.ts";
import type { Collector } from "./collector.ts";
import { CALL, DEFER, isUnused, NONE, type Path } from "./effects.ts";
import { ts, unwrap } from "./typescript.ts";

/** Collects an expression: the code its evaluation runs and how its value is used. */
export function collectExpression(c: Collector, expression: ts.Expression, path: Path): void {
  const node = unwrap(expression);
  if (isRequiredConstant(path[0]) && collectRequiredConstant(c, node, path)) return;
  if (ts.isIdentifier(node)) return collectName(c, node, path);
  if (node.kind === ts.SyntaxKind.ThisKeyword) return collectThis(c, node, path);
  if (ts.isFunctionExpression(node) || ts.isArrowFunction(node)) {
    return isUnused(path) ? undefined : c.reach(node, path);
  }
  if (ts.isClassExpression(node)) return c.reach(node, path);
  if (ts.isObjectLiteralExpression(node)) return useObject(c, node, path);
  if (ts.isArrayLiteralExpression(node)) return useArray(c, node, path);
  if (ts.isPropertyAccessExpression(node)) {
    collectProcessMember(c, node);
    return isUnused(path)
      ? evaluateMember(c, node.expression, node.name.text, path)
      : useMember(c, node.expression, node.name.text, path);
  }
  if (ts.isElementAccessExpression(node)) return useElement(c, node, path);
  if (ts.isCallExpression(node)) return collectCall(c, node, path);
  if (ts.isNewExpression(node)) {
    for (const argument of node.arguments ?? []) c.use(argument, [NONE]);
    return c.use(node.expression, [c.units.getStep(node), ...path]);
  }
  if (ts.isAwaitExpression(node)) return c.use(node.expression, path[0] === DEFER ? [NONE] : path);
  if (ts.isConditionalExpression(node)) {
    c.use(node.condition, [NONE]);
    c.use(node.whenTrue, path);
    return c.use(node.whenFalse, path);
  }
  if (ts.isBinaryExpression(node)) return useBinary(c, node, path);
  if (ts.isTaggedTemplateExpression(node)) {
    c.use(node.tag, []);
    if (ts.isTemplateExpression(node.template)) {
      for (const span of node.template.templateSpans) {
        c.use(span.expression, path[0] === DEFER ? path : []);
      }
    }
    return;
  }
  if (isRequiredConstant(path.at(-1))) c.unknown(node, path);
  if (ts.isSpreadElement(node) || ts.isYieldExpression(node) || ts.isJsxSpreadAttribute(node)) {
    if (node.expression !== undefined) {
      c.use(node.expression, isUnused(path) && ts.isSpreadElement(node) ? path : []);
    }
    return;
  }
  c.release(path);
  const isJsx = ts.isJsxElement(node) || ts.isJsxSelfClosingElement(node) || ts.isJsxFragment(node);
  // operators and templates read their operands and never call them
  useChildren(c, node, isJsx ? [] : [NONE]);
}

/** Collects `process.env.STAGE`, even in a comparison, which does not use the value. */
function collectProcessMember(c: Collector, node: ts.PropertyAccessExpression): void {
  const owner = unwrap(node.expression);
  if (
    !ts.isPropertyAccessExpression(owner) || owner.name.text !== "env" ||
    !ts.isIdentifier(owner.expression)
  ) return;
  const target = c.project.getTarget(owner.expression);
  const isProcess = target.kind === "opaque"
    ? owner.expression.text === "process"
    : target.kind === "package" && isProcessModule(target.module);
  if (isProcess) collectProcess(c, node, ["env", node.name.text]);
}

function useChildren(c: Collector, node: ts.Node, path: Path): void {
  ts.forEachChild(node, (child) => {
    if (ts.isTypeNode(child)) return;
    if (ts.isExpression(child)) c.use(child, path);
    else useChildren(c, child, path);
  });
}

/** Collects a member whose value is not used: its owner is evaluated, and a getter may run. */
function evaluateMember(c: Collector, owner: ts.Expression, name: string, path: Path): void {
  const inner = unwrap(owner);
  if (ts.isIdentifier(inner) || inner.kind === ts.SyntaxKind.ThisKeyword) {
    return useMember(c, owner, name, path);
  }
  c.use(owner, [path[0]]);
}

function useMember(c: Collector, owner: ts.Expression, name: string, path: Path): void {
  const inner = unwrap(owner);
  if (inner.kind === ts.SyntaxKind.SuperKeyword) return collectThis(c, inner, [name, ...path]);
  c.use(owner, [name, ...path]);
}

function useElement(c: Collector, node: ts.ElementAccessExpression, path: Path): void {
  c.use(node.argumentExpression, [NONE]);
  const key = c.evaluator.readText(node.argumentExpression);
  if (key !== undefined) return useMember(c, node.expression, key, path);
  // any member may be read
  c.unknown(node, path);
  c.use(node.expression, isUnused(path) ? [path[0]] : []);
}

function useBinary(c: Collector, node: ts.BinaryExpression, path: Path): void {
  if (isAssignment(node)) {
    const { left } = node;
    c.use(node.right, [NONE]);
    // references to a variable lead to the values assigned to it; a member of another object may be
    // used anywhere
    if (ts.isPropertyAccessExpression(left)) {
      c.use(left, [NONE]);
      if (
        left.expression.kind !== ts.SyntaxKind.ThisKeyword ||
        findEnclosingClass(left.expression) === undefined
      ) {
        c.use(node.right, []);
      }
    } else if (!ts.isIdentifier(left)) {
      useChildren(c, left, [NONE]);
      c.use(node.right, []);
    }
    return isUnused(path) ? undefined : c.use(node.right, path);
  }
  switch (node.operatorToken.kind) {
    case ts.SyntaxKind.BarBarToken:
    case ts.SyntaxKind.AmpersandAmpersandToken:
    case ts.SyntaxKind.QuestionQuestionToken:
      c.use(node.left, path);
      return c.use(node.right, path);
    case ts.SyntaxKind.CommaToken:
      c.use(node.left, [NONE]);
      return c.use(node.right, path);
    default:
      c.unknown(node, path);
      c.use(node.left, [NONE]);
      return c.use(node.right, [NONE]);
  }
}

function useArray(c: Collector, node: ts.ArrayLiteralExpression, path: Path): void {
  const [first, ...rest] = path;
  const element =
    typeof first === "string" && /^\d+$/.test(first) && !node.elements.some(ts.isSpreadElement)
      ? node.elements[Number(first)]
      : undefined;
  if (element !== undefined) return c.use(element, rest);
  if (!isUnused(path)) c.unknown(node, path);
  for (const each of node.elements) c.use(each, isUnused(path) ? path : []);
}

function useObject(c: Collector, node: ts.ObjectLiteralExpression, path: Path): void {
  const [name, ...rest] = path;
  const isWhole = name === undefined || isUnused(path) || typeof name !== "string";
  if (typeof name === "object") c.release(path);
  for (const property of [...node.properties].reverse()) {
    if (ts.isSpreadAssignment(property)) {
      c.use(property.expression, isUnused(path) ? path : isWhole ? [] : path);
      continue;
    }
    const key = c.evaluator.getKey(property.name);
    if (!isWhole && key !== undefined && key !== name) continue;
    const used = isUnused(path) ? path : isWhole ? [] : rest;
    if (ts.isComputedPropertyName(property.name)) c.use(property.name.expression, [NONE]);
    if (ts.isPropertyAssignment(property)) c.use(property.initializer, used);
    else if (ts.isShorthandPropertyAssignment(property)) c.use(property.name, used);
    else if (!isUnused(used)) {
      c.reach(property, ts.isGetAccessor(property) ? [CALL, ...used] : used);
    }
    if (!isWhole && key === name) return;
  }
  if (!isWhole) c.release(path);
}
