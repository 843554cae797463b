import { collectResult } from "./collect_statements.ts";
import type { Collector } from "./collector.ts";
import { CALL, type CallStep, isCall, isUnused, type Path } from "./effects.ts";
import { ts, unwrap } from "./typescript.ts";

/** Collects the use of a function: its calls, including `bind`, `call` and `apply`. */
export function collectFunction(c: Collector, node: ts.FunctionLikeDeclaration, path: Path): void {
  if (isUnused(path) || node.body === undefined) return;
  const [first, second, ...rest] = path;
  if (first === undefined) {
    c.emit({ kind: "escape", node });
    return c.reach(node, [CALL]);
  }
  if (first === CALL) {
    const result = path.slice(1);
    return ts.isBlock(node.body) ? c.run(node.body, result) : collectResult(c, node.body, result);
  }
  if (isCall(first)) {
    bindArguments(c, node, first.call.arguments ?? []);
    return c.reach(node, [CALL, ...path.slice(1)]);
  }
  if (isCall(second) && (first === "bind" || first === "call" || first === "apply")) {
    const [self, ...given] = second.call.arguments ?? [];
    if (self !== undefined && !isReceiver(self, second)) c.reach(self, []);
    if (first === "call") bindArguments(c, node, given);
    else for (const argument of given) c.reach(unspread(argument), []);
    return c.reach(node, first === "bind" ? rest : [CALL, ...rest]);
  }
  // a property of a function: the called code is unknown
  c.release(path);
  if (path.some(isCall)) c.reach(node, []);
}

/** Binds the arguments of a call to the parameters of a function. */
export function bindArguments(
  c: Collector,
  node: ts.SignatureDeclaration,
  given: readonly ts.Expression[],
): void {
  const readsAll = /\barguments\b/.test((node as ts.FunctionLikeDeclaration).body?.getText() ?? "");
  const hasSpread = given.some((argument) => ts.isSpreadElement(argument));
  const parameters = node.parameters.filter(({ name }) =>
    !(ts.isIdentifier(name) && name.text === "this")
  );
  given.forEach((argument, index) => {
    const parameter = parameters[index] as ts.ParameterDeclaration | undefined;
    if (
      readsAll || hasSpread || (parameters.at(-1)?.dotDotDotToken && index >= parameters.length - 1)
    ) {
      c.reach(unspread(argument), []);
    } else if (parameter !== undefined) {
      c.emit({ kind: "bind", node: parameter, argument });
    }
  });
}

/**
 * Checks for `Queries.list.bind(Queries)`, which uses no more of `Queries` than `Queries.list`
 * does.
 */
function isReceiver(self: ts.Expression, step: CallStep): boolean {
  const callee = unwrap(step.call.expression);
  if (!ts.isPropertyAccessExpression(callee)) return false;
  const method = unwrap(callee.expression);
  if (self.kind === ts.SyntaxKind.NullKeyword) return true;
  return ts.isPropertyAccessExpression(method) && method.expression.getText() === self.getText();
}

function unspread(argument: ts.Expression): ts.Expression {
  return ts.isSpreadElement(argument) ? argument.expression : argument;
}
