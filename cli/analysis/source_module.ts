import { readFileSync } from "node:fs";
import { ts } from "./typescript.ts";

/** The source of an export. */
export type ExportEntry =
  | { readonly kind: "local"; readonly name: ts.Identifier }
  | { readonly kind: "node"; readonly node: ts.Node }
  | { readonly kind: "from"; readonly specifier: ts.StringLiteral; readonly name: string }
  | { readonly kind: "namespace"; readonly specifier: ts.StringLiteral };

/** A parsed file with its imports and exports. */
export interface SourceModule {
  /** Absolute path. */
  readonly path: string;
  /** The syntax tree. */
  readonly source: ts.SourceFile;
  /** Exported values by name; `export *` is in `stars`. */
  readonly exports: ReadonlyMap<string, ExportEntry>;
  /** Modules of `export *`. */
  readonly stars: readonly ts.StringLiteral[];
  /** Modules that are loaded with the file, in order. */
  readonly loads: readonly ts.StringLiteral[];
  /** A `module.exports` or `export =`, whose names cannot be determined statically. */
  readonly commonJs?: ts.Node;
}

/**
 * Parses a source file.
 *
 * @param path Absolute path.
 * @throws {SyntaxError} If it cannot be parsed; the message contains file and line.
 */
export function readSourceModule(path: string): SourceModule {
  const source = ts.createSourceFile(
    path,
    readFileSync(path, "utf8"),
    ts.ScriptTarget.Latest,
    true,
    scriptKind(path),
  );
  const [diagnostic] =
    (source as unknown as { parseDiagnostics: ts.DiagnosticWithLocation[] }).parseDiagnostics;
  if (diagnostic !== undefined) {
    const { line } = source.getLineAndCharacterOfPosition(diagnostic.start);
    throw new SyntaxError(
      `${path}:${line + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, " ")}`,
    );
  }
  const exports = new Map<string, ExportEntry>();
  const stars: ts.StringLiteral[] = [];
  const loads: ts.StringLiteral[] = [];
  let commonJs: ts.Node | undefined;

  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) {
      if (!isTypeOnlyImport(statement)) loads.push(statement.moduleSpecifier as ts.StringLiteral);
    } else if (ts.isExportDeclaration(statement)) {
      readExportDeclaration(statement, exports, stars, loads);
    } else if (ts.isExportAssignment(statement)) {
      if (statement.isExportEquals) commonJs = statement;
      else exports.set("default", { kind: "node", node: statement.expression });
    } else if (hasModifier(statement, ts.SyntaxKind.ExportKeyword)) {
      readExportedDeclaration(statement, exports);
    } else if (isCommonJsExport(statement)) {
      commonJs = statement;
    }
  }
  return { path, source, exports, stars, loads, commonJs };
}

function scriptKind(path: string): ts.ScriptKind {
  if (path.endsWith("x")) return path.endsWith(".tsx") ? ts.ScriptKind.TSX : ts.ScriptKind.JSX;
  return /\.[cm]?js$/.test(path) ? ts.ScriptKind.JS : ts.ScriptKind.TS;
}

/**
 * Checks whether a node has a modifier.
 *
 * @param kind The modifier's kind.
 */
export function hasModifier(node: ts.Node, kind: ts.SyntaxKind): boolean {
  return ts.canHaveModifiers(node) &&
    ts.getModifiers(node)?.some((modifier) => modifier.kind === kind) === true;
}

/** Checks whether an import is removed by compilation; all other imports load the module. */
function isTypeOnlyImport({ importClause }: ts.ImportDeclaration): boolean {
  if (importClause === undefined) return false;
  if (importClause.isTypeOnly) return true;
  const { name, namedBindings } = importClause;
  return name === undefined && namedBindings !== undefined && ts.isNamedImports(namedBindings) &&
    namedBindings.elements.length > 0 &&
    namedBindings.elements.every((element) => element.isTypeOnly);
}

function readExportDeclaration(
  statement: ts.ExportDeclaration,
  exports: Map<string, ExportEntry>,
  stars: ts.StringLiteral[],
  loads: ts.StringLiteral[],
): void {
  if (statement.isTypeOnly) return;
  const specifier = statement.moduleSpecifier as ts.StringLiteral | undefined;
  const clause = statement.exportClause;
  const elements = clause !== undefined && ts.isNamedExports(clause) ? clause.elements : [];
  if (
    specifier !== undefined &&
    (elements.length === 0 || elements.some((element) => !element.isTypeOnly))
  ) {
    loads.push(specifier);
  }
  if (clause === undefined) stars.push(specifier!);
  else if (ts.isNamespaceExport(clause)) {
    exports.set(clause.name.text, { kind: "namespace", specifier: specifier! });
  }
  for (const element of elements) {
    if (element.isTypeOnly) continue;
    const inner = element.propertyName ?? element.name;
    exports.set(
      element.name.text,
      specifier === undefined
        ? { kind: "local", name: inner as ts.Identifier }
        : { kind: "from", specifier, name: inner.text },
    );
  }
}

function readExportedDeclaration(statement: ts.Statement, exports: Map<string, ExportEntry>): void {
  if (hasModifier(statement, ts.SyntaxKind.DeclareKeyword)) return;
  if (ts.isVariableStatement(statement)) {
    for (const { name } of statement.declarationList.declarations) {
      for (const bound of listBoundNames(name)) {
        exports.set(bound.text, { kind: "local", name: bound });
      }
    }
  } else if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) {
    if (ts.isFunctionDeclaration(statement) && statement.body === undefined) return;
    const isDefault = hasModifier(statement, ts.SyntaxKind.DefaultKeyword);
    const name = isDefault ? "default" : statement.name?.text;
    if (name !== undefined) exports.set(name, { kind: "node", node: statement });
  } else if (ts.isEnumDeclaration(statement) || ts.isModuleDeclaration(statement)) {
    exports.set(statement.name.text, { kind: "node", node: statement });
  }
}

/**
 * Returns the names that a binding declares.
 *
 * @param name An identifier or a pattern.
 */
export function listBoundNames(name: ts.BindingName): ts.Identifier[] {
  if (ts.isIdentifier(name)) return [name];
  return name.elements.flatMap((element) =>
    ts.isBindingElement(element) ? listBoundNames(element.name) : []
  );
}

function isCommonJsExport(statement: ts.Statement): boolean {
  if (!ts.isExpressionStatement(statement) || !ts.isBinaryExpression(statement.expression)) {
    return false;
  }
  const { left, operatorToken } = statement.expression;
  return operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    /^(?:module\.)?exports\b/.test(left.getText());
}
