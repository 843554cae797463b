import ts from "typescript";

/** One change of a program that its tests should notice. */
export interface Mutant {
  /** `core/http/hmac.ts` */
  readonly file: string;
  readonly line: number;
  /** The line's text, trimmed: with the change it names the mutant, whatever line it moves to. */
  readonly code: string;
  /** `=== → !==`; the second of such changes in lines of the same text is `=== → !== #2`. */
  readonly change: string;
  /** Where the text that is replaced begins and ends. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const OPERATORS: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&&": "||",
  "||": "&&",
  "&": "|",
  "|": "&",
  "+=": "-=",
  "-=": "+=",
};

/**
 * Every mutant of a file: operators turned round, conditions made constant, negations and statements left out, constants
 * changed, the default of `??` taken or dropped.
 *
 * @param file The file's name in the project.
 * @param source Its text.
 * @returns The mutants, in the order of the text.
 */
export function getMutants(file: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const lines = source.split("\n");
  const mutants: Mutant[] = [];
  const seen = new Map<string, number>();

  function add(
    node: ts.Node,
    text: string,
    change: string,
    start = node.getStart(tree),
    end = node.getEnd(),
  ): void {
    const line = tree.getLineAndCharacterOfPosition(start).line;
    const code = lines[line].trim();
    const place = (seen.get(`${change} in ${code}`) ?? 0) + 1;
    seen.set(`${change} in ${code}`, place);
    mutants.push({
      file,
      line: line + 1,
      code,
      change: place === 1 ? change : `${change} #${place}`,
      start,
      end,
      text,
    });
  }

  function visit(node: ts.Node): void {
    // what is gone when the program runs, and what loads it
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) {
      return;
    }
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    mutate(node);
    ts.forEachChild(node, visit);
  }

  function mutate(node: ts.Node): void {
    if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText(tree);
      if (operator in OPERATORS && !isText(node)) {
        add(node.operatorToken, OPERATORS[operator], `${operator} → ${OPERATORS[operator]}`);
      }
      if (operator === "??") {
        add(node, `(${node.left.getText(tree)})`, "?? without its default");
        add(node, `(${node.right.getText(tree)})`, "?? always its default");
      }
    } else if (
      ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken
    ) {
      add(node, `(${node.operand.getText(tree)})`, "! left out");
    } else if (ts.isIfStatement(node) || ts.isWhileStatement(node)) {
      add(node.expression, "false", "condition → false");
      if (ts.isIfStatement(node)) add(node.expression, "true", "condition → true");
    } else if (ts.isConditionalExpression(node)) {
      add(node.condition, "true", "condition → true");
      add(node.condition, "false", "condition → false");
    } else if (node.kind === ts.SyntaxKind.TrueKeyword && ts.isExpression(node)) {
      add(node, "false", "true → false");
    } else if (node.kind === ts.SyntaxKind.FalseKeyword && ts.isExpression(node)) {
      add(node, "true", "false → true");
    } else if (ts.isNumericLiteral(node)) {
      add(node, `(${node.text} + 1)`, `${node.text} → ${node.text} + 1`);
    } else if (ts.isStringLiteral(node) && isName(node)) {
      add(node, '"mutated"', `"${node.text}" → another text`);
    } else if (ts.isExpressionStatement(node) && isCall(node.expression)) {
      add(node, ";", "statement left out");
    } else if (ts.isThrowStatement(node)) add(node, ";", "throw left out");
  }

  visit(tree);
  return mutants;
}

/** `+` that joins texts has no opposite. */
function isText(node: ts.BinaryExpression): boolean {
  if (node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return false;
  const isLiteral = (side: ts.Expression): boolean =>
    ts.isStringLiteralLike(side) || ts.isTemplateExpression(side) ||
    (ts.isBinaryExpression(side) && isText(side));
  return isLiteral(node.left) || isLiteral(node.right);
}

/** A code, a key or a SQL state; sentences for people are the business of other tests. */
function isName({ text, parent }: ts.StringLiteral): boolean {
  const isKey = ts.isPropertyAssignment(parent) && parent.name.getText() === `"${text}"`;
  return text !== "" && !/\s/.test(text) && !isKey && !ts.isLiteralTypeNode(parent);
}

function isCall(node: ts.Expression): boolean {
  const inner = ts.isAwaitExpression(node) || ts.isVoidExpression(node) ? node.expression : node;
  return ts.isCallExpression(inner) && inner.expression.kind !== ts.SyntaxKind.SuperKeyword;
}
