import type { Statement } from "./statements.ts";
import { child, children, findNodes, getText, type SyntaxNode } from "./syntax_tree.ts";
import type { BindMessage } from "./wire_extended.ts";

/** Returns the first argument of a CALL; a subquery is left to the database, which rejects it. */
function callArgument(statement: Statement): SyntaxNode {
  const argument = children(child(statement.node, "funccall"), "args")[0] ?? {};
  return argument.SubLink ? {} : argument;
}

/** Returns the first argument of a CALL if it is a constant. */
export function readConstantArgument(statement: Statement): string | undefined {
  const constant = findNodes(callArgument(statement), "A_Const")[0];
  return constant && getText(child(constant, "sval"), "sval");
}

/** Returns the first argument of a CALL if it is a parameter with a value. */
export function readBoundArgument(statement: Statement, bind: BindMessage): string | undefined {
  const parameter = findNodes(callArgument(statement), "ParamRef")[0];
  const value = parameter && bind.values[Number(parameter.number) - 1];
  return value ? new TextDecoder().decode(value) : undefined;
}
