import type { Project } from "../../analysis/project.ts";
import { findDeclaration } from "../../analysis/scopes.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { isTrellis } from "../../analysis/values.ts";

/** The source of a name in an expression: an import of zod, or another pure declaration. */
export type PureReference =
  | { readonly kind: "zod"; readonly specifier: string; readonly name: string }
  | { readonly kind: "declaration"; readonly node: ts.VariableDeclaration };

/** An expression that gives the same value wherever and whenever it is evaluated. */
export interface PureExpression {
  readonly node: ts.Expression;
  /** True if it contains a call of zod; false for constants. */
  readonly isZod: boolean;
  /** Its free names. */
  readonly references: ReadonlyMap<string, PureReference>;
}

/** The reason why an expression is not pure. */
export class NotPure extends Error {
  /** The part that is not pure. */
  readonly node: ts.Node;

  constructor(node: ts.Node, message: string) {
    super(message);
    this.node = node;
  }
}

/** Members of zod with an effect, that read the state of the process, or that run a schema. */
export const DENIED: ReadonlySet<string> = new Set(
  ("config setErrorMap registry globalRegistry register locales compile custom function _function lazy promise " +
    "parse parseAsync safeParse safeParseAsync validate validateAsync decode decodeAsync encode encodeAsync " +
    "safeDecode safeDecodeAsync safeEncode safeEncodeAsync assign add set delete clear push pop shift unshift " +
    "splice sort reverse fill copyWithin __proto__ constructor prototype").split(" "),
);

const CONSTANTS: ReadonlySet<string> = new Set(["undefined", "NaN", "Infinity"]);

const ZOD_MODULES: ReadonlySet<string> = new Set(["zod", "zod/mini", "zod/v4", "zod/v4-mini"]);

/** Returns true for an export of zod, and for `z` of this package. */
export function isZodImport({ module, name }: { module: string; name: string }): boolean {
  return ZOD_MODULES.has(module) || isTrellis(module) && name === "z";
}

/** Finds pure expressions: calls of zod whose arguments are constants and other pure expressions. */
export class PureExpressions {
  readonly #project: Project;
  readonly #declarations = new Map<ts.VariableDeclaration, PureExpression | NotPure>();

  /** @param project The sources. */
  constructor(project: Project) {
    this.#project = project;
  }

  /**
   * Reads an expression.
   *
   * @returns The expression with its references, or the reason why it is not pure.
   */
  read(node: ts.Expression): PureExpression | NotPure {
    const references = new Map<string, PureReference>();
    try {
      const isZod = this.#check(node, references);
      return { node, isZod, references };
    } catch (error) {
      if (error instanceof NotPure) return error;
      throw error;
    }
  }

  /** Reads the value of a declaration: a `const` of a module. */
  readDeclaration(node: ts.VariableDeclaration): PureExpression | NotPure {
    const known = this.#declarations.get(node);
    if (known !== undefined) return known;
    this.#declarations.set(node, new NotPure(node, "refers to itself"));
    const read = this.#readInitializer(node);
    this.#declarations.set(node, read);
    return read;
  }

  #readInitializer(node: ts.VariableDeclaration): PureExpression | NotPure {
    const { initializer, name, parent } = node;
    const isConstant = ts.isIdentifier(name) && initializer !== undefined &&
      ts.isVariableDeclarationList(parent) && (parent.flags & ts.NodeFlags.Const) !== 0 &&
      ts.isVariableStatement(parent.parent) && ts.isSourceFile(parent.parent.parent);
    if (!isConstant) return new NotPure(node, `${name.getText()} is not a const of a module`);
    const read = this.read(initializer);
    if (!(read instanceof NotPure) && !read.isZod && !isFixed(initializer)) {
      return new NotPure(
        node,
        `${name.getText()} can be changed: write "as const" after its value`,
      );
    }
    return read;
  }

  /** Returns the reference of a name, if it is zod or a pure declaration. */
  findReference(name: ts.Identifier): PureReference | undefined {
    const declared = findDeclaration(name);
    if (declared === undefined) return undefined;
    const target = this.#project.getTarget(name);
    if (target.kind === "declaration" && ts.isVariableDeclaration(target.node)) {
      return { kind: "declaration", node: target.node };
    }
    if (target.kind !== "package") return undefined;
    const specifier = findSpecifier(declared);
    return isZodImport(target) && specifier !== undefined && !/^[./]/.test(specifier)
      ? { kind: "zod", specifier, name: target.name }
      : undefined;
  }

  /** Checks an expression; returns true if it contains a call of zod. */
  #check(given: ts.Expression, references: Map<string, PureReference>): boolean {
    const node = unwrap(given);
    if (isLiteral(node)) return false;
    if (ts.isIdentifier(node)) return this.#checkName(node, references);
    if (ts.isArrayLiteralExpression(node)) {
      return node.elements.map((each) => {
        return this.#check(ts.isSpreadElement(each) ? each.expression : each, references);
      }).includes(true);
    }
    if (ts.isObjectLiteralExpression(node)) return this.#checkObject(node, references);
    if (ts.isPropertyAccessExpression(node) && node.questionDotToken === undefined) {
      if (DENIED.has(node.name.text)) throw notPure(node.name, `${node.name.text} is used`);
      return this.#check(node.expression, references);
    }
    if (ts.isCallExpression(node) && node.questionDotToken === undefined) {
      return this.#checkCall(node, references);
    }
    throw notPure(node, describe(node));
  }

  #checkName(name: ts.Identifier, references: Map<string, PureReference>): boolean {
    const reference = this.findReference(name);
    if (reference === undefined) {
      if (CONSTANTS.has(name.text) && findDeclaration(name) === undefined) return false;
      throw notPure(name, `${name.text} is not a constant of the project`);
    }
    references.set(name.text, reference);
    if (reference.kind === "zod") return true;
    const value = this.readDeclaration(reference.node);
    if (value instanceof NotPure) throw value;
    return value.isZod;
  }

  #checkObject(
    { properties }: ts.ObjectLiteralExpression,
    references: Map<string, PureReference>,
  ): boolean {
    return properties.map((each) => {
      if (ts.isSpreadAssignment(each)) return this.#check(each.expression, references);
      if (ts.isShorthandPropertyAssignment(each)) return this.#checkName(each.name, references);
      const isPlain = ts.isPropertyAssignment(each) && !ts.isComputedPropertyName(each.name) &&
        (each.name as ts.Identifier).text !== "__proto__";
      if (!isPlain) throw notPure(each, describe(each));
      return this.#check(each.initializer, references);
    }).includes(true);
  }

  /** Checks a call: of zod, or of a method of a schema. */
  #checkCall(node: ts.CallExpression, references: Map<string, PureReference>): boolean {
    const callee = unwrap(node.expression);
    if (!ts.isIdentifier(callee) && !ts.isPropertyAccessExpression(callee)) {
      throw notPure(node, describe(node));
    }
    if (ts.isIdentifier(callee) && DENIED.has(this.#getZodName(callee))) {
      throw notPure(callee, `${callee.text} is used`);
    }
    if (!this.#check(callee, references)) throw notPure(callee, `${callee.getText()}() is called`);
    for (const argument of node.arguments) {
      if (ts.isSpreadElement(argument)) throw notPure(argument, describe(argument));
      this.#check(argument, references);
    }
    return true;
  }

  #getZodName(name: ts.Identifier): string {
    const reference = this.findReference(name);
    return reference?.kind === "zod" ? reference.name : "";
  }
}

function notPure(node: ts.Node, message: string): NotPure {
  return new NotPure(node, message);
}

function describe(node: ts.Node): string {
  if (ts.isFunctionLike(node)) return "a function is used";
  const text = node.getText().replace(/\s+/g, " ");
  return `${text.length <= 40 ? text : `${text.slice(0, 39)}…`} is not a constant`;
}

function isLiteral(node: ts.Expression): boolean {
  if (ts.isPrefixUnaryExpression(node)) {
    return node.operator !== ts.SyntaxKind.PlusPlusToken &&
      node.operator !== ts.SyntaxKind.MinusMinusToken && isLiteral(unwrap(node.operand));
  }
  if (ts.isBinaryExpression(node)) {
    return ARITHMETIC.has(node.operatorToken.kind) && isLiteral(unwrap(node.left)) &&
      isLiteral(unwrap(node.right));
  }
  return ts.isStringLiteralLike(node) || ts.isNumericLiteral(node) || ts.isBigIntLiteral(node) ||
    ts.isRegularExpressionLiteral(node) || LITERALS.has(node.kind);
}

const LITERALS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.TrueKeyword,
  ts.SyntaxKind.FalseKeyword,
  ts.SyntaxKind.NullKeyword,
]);

const ARITHMETIC: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.PlusToken,
  ts.SyntaxKind.MinusToken,
  ts.SyntaxKind.AsteriskToken,
  ts.SyntaxKind.AsteriskAsteriskToken,
  ts.SyntaxKind.SlashToken,
]);

/** Checks that a constant cannot be changed: it is a primitive, a regular expression, or `as const`. */
function isFixed(node: ts.Expression): boolean {
  if (ts.isParenthesizedExpression(node) || ts.isSatisfiesExpression(node)) {
    return isFixed(node.expression);
  }
  if (ts.isAsExpression(node)) {
    return ts.isTypeReferenceNode(node.type) && node.type.typeName.getText() === "const";
  }
  // the position in a text is a state of such an expression
  const hasState = ts.isRegularExpressionLiteral(node) &&
    /[gy]/.test(node.text.slice(node.text.lastIndexOf("/")));
  return isLiteral(node) && !hasState;
}

function findSpecifier(declared: ts.Node): string | undefined {
  for (let node = declared; !ts.isSourceFile(node); node = node.parent) {
    if (ts.isImportDeclaration(node)) return (node.moduleSpecifier as ts.StringLiteral).text;
  }
  return undefined;
}
