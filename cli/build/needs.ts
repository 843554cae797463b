import type { DatabaseProvider } from "../../database/config.ts";
import { ts, unwrap } from "../analysis/typescript.ts";
import { isTrellis } from "../analysis/values.ts";

/** The optional parts of the package that a function needs. */
export interface Needs {
  /** The providers in its configurations, sorted. */
  readonly providers: readonly DatabaseProvider[];
  /** True if a provider is computed at run time, so that any provider may be used. */
  readonly anyProvider: boolean;
  /** The position of a provider in the code that cannot be determined. */
  readonly unreadAt?: number;
  /** True if it may use the auth library itself and not only check sessions. */
  readonly betterAuth: boolean;
  /** True if it may call `apiKey` of `defineAuth`. */
  readonly apiKeys: boolean;
  /** True if it may call `jwt` of `defineAuth`. */
  readonly jwt: boolean;
}

/** The providers that work in a deployed function. */
export const DEPLOYABLE: readonly DatabaseProvider[] = [
  "branching-pg",
  "distsql",
  "postgres",
  "serverless-pg",
];

/** Functions that return an auth instance or call its routes. */
const INSTANCES: ReadonlySet<string> = new Set([
  "createAuth",
  "createAuthHandler",
  "getAuth",
  "getConfiguredSessionAuth",
]);
/** Functions that take an auth instance as their first argument and never load the library. */
const SESSION_CHECKS: ReadonlySet<string> = new Set([
  "expireSession",
  "listAuthEvents",
  "refreshSession",
  "removeExpiredAuthRows",
  "validateSession",
  "validateSessionFromHeader",
]);

/** Functions whose first argument returns an auth instance, and that never load the library. */
const INSTANCE_USERS: ReadonlySet<string> = new Set(["createAuthCleanupHandler"]);

/**
 * Reads the needs of a function from its tree-shaken sources: every import in them is used.
 *
 * @param code The function's own code as a bundle, with packages as imports.
 */
export function readNeeds(code: string): Needs {
  const file = ts.createSourceFile(
    "function.js",
    code,
    ts.ScriptTarget.Latest,
    true,
    ts.ScriptKind.JS,
  );
  const imports = readImports(file);
  const names = new Set(imports.map(({ name }) => name));
  const isWhole = names.has("*");
  const usesDatabase = isWhole ||
    imports.some(({ from }) => from.includes("/database") && !from.includes("/orm"));
  const auth = {
    betterAuth: isWhole || startsBetterAuth(file, imports),
    apiKeys: isWhole || usesMember(file, imports, "apiKey"),
    jwt: isWhole || usesMember(file, imports, "jwt"),
  };
  if (!usesDatabase) return { providers: [], anyProvider: false, ...auth };
  const { named, unread } = readProviders(file);
  return {
    providers: [...named].sort(),
    anyProvider: unread.length > 0 || named.size === 0,
    unreadAt: unread[0]?.getStart(file),
    ...auth,
  };
}

interface Imported {
  /** The exported name; `*` for the namespace. */
  readonly name: string;
  /** The local name. */
  readonly local: string;
  readonly from: string;
}

function readImports(file: ts.SourceFile): Imported[] {
  const found: Imported[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const from = node.moduleSpecifier.text;
      const bindings = node.importClause?.namedBindings;
      if (!isTrellis(from) || bindings === undefined) return;
      if (ts.isNamespaceImport(bindings)) {
        found.push({ name: "*", local: bindings.name.text, from });
      } else {
        for (const { name, propertyName } of bindings.elements) {
          found.push({ name: (propertyName ?? name).text, local: name.text, from });
        }
      }
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      const from = (node.moduleSpecifier as ts.StringLiteral).text;
      if (isTrellis(from)) found.push({ name: "*", local: "", from });
    } else if (ts.isCallExpression(node) && node.arguments.length > 0) {
      // import("@trellis/fn/auth"), require("@trellis/fn/auth")
      const [argument] = node.arguments;
      const isLoad = node.expression.kind === ts.SyntaxKind.ImportKeyword ||
        /require$/.test(node.expression.getText(file));
      if (isLoad && ts.isStringLiteralLike(argument) && isTrellis(argument.text)) {
        found.push({ name: "*", local: "", from: argument.text });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Providers in a file, and the expressions whose provider cannot be determined. */
export interface ReadProviders {
  readonly named: ReadonlySet<DatabaseProvider>;
  readonly unread: readonly ts.Node[];
}

/**
 * Reads the providers of configurations: `{ provider: "distsql" }`, also inside `?:`, `??` and `||`.
 *
 * @returns The names; if there are none, the calls that open a database count as unread.
 */
export function readProviders(file: ts.SourceFile): ReadProviders {
  const named = new Set<DatabaseProvider>();
  const unread: ts.Node[] = [];
  const clients: ts.Node[] = [];
  const read = (value: ts.Expression): void => {
    const node = unwrap(value);
    if (ts.isConditionalExpression(node)) {
      read(node.whenTrue);
      read(node.whenFalse);
    } else if (
      ts.isBinaryExpression(node) &&
      [ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.BarBarToken].includes(
        node.operatorToken.kind,
      )
    ) {
      read(node.left);
      read(node.right);
    } else if (!ts.isStringLiteralLike(node)) unread.push(node);
    else if (DEPLOYABLE.includes(node.text as DatabaseProvider) || node.text === "embedded-pg") {
      named.add(node.text as DatabaseProvider);
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && getName(node.name) === "provider") read(node.initializer);
    else if (ts.isShorthandPropertyAssignment(node) && node.name.text === "provider") {
      unread.push(node);
    } else if (
      ts.isCallExpression(node) && /^getDrizzleClient/.test(node.expression.getText(file))
    ) {
      clients.push(node);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { named, unread: named.size === 0 && unread.length === 0 ? clients : unread };
}

function getName(name: ts.PropertyName): string | undefined {
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) ? name.text : undefined;
}

/**
 * Checks whether an auth instance is used for anything except session checks, which never load the
 * library.
 */
function startsBetterAuth(file: ts.SourceFile, imports: readonly Imported[]): boolean {
  const locals = new Map(imports.map(({ local, name }) => [local, name]));
  for (const local of listMembers(file, imports, "getAuth") ?? []) locals.set(local, "getAuth");
  let starts = listMembers(file, imports, "getAuth") === undefined;
  if (![...locals.values()].some((name) => INSTANCES.has(name))) return starts;
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || isDefinition(node)) return;
    if (
      ts.isIdentifier(node) && INSTANCES.has(locals.get(node.text) ?? "") &&
      !isForSessionCheck(node)
    ) starts = true;
    else ts.forEachChild(node, visit);
  };
  const isForSessionCheck = (name: ts.Identifier): boolean => {
    let node: ts.Node = name.parent;
    if (ts.isCallExpression(node) && node.arguments[0] === name) {
      return INSTANCE_USERS.has(locals.get(node.expression.getText(file)) ?? "");
    }
    if (!ts.isCallExpression(node) || node.expression !== name) return false;
    while (ts.isAwaitExpression(node.parent) || ts.isParenthesizedExpression(node.parent)) {
      node = node.parent;
    }
    const { parent } = node;
    return ts.isCallExpression(parent) && parent.arguments[0] === node &&
      ts.isIdentifier(parent.expression) &&
      SESSION_CHECKS.has(locals.get(parent.expression.text) ?? "");
  };
  visit(file);
  return starts;
}

/** Checks for `{ session, getAuth } = defineAuth(…)`, whose names are no uses. */
function isDefinition(node: ts.Node): node is ts.ObjectBindingPattern {
  return ts.isObjectBindingPattern(node) && ts.isVariableDeclaration(node.parent);
}

/**
 * Lists the local names of a function that calls of `defineAuth` return: `getAuth` in
 * `const { getAuth } = defineAuth(…)`.
 *
 * @returns The names; `undefined` if a result is used in another way, so that any of its functions may be called.
 */
function listMembers(
  file: ts.SourceFile,
  imports: readonly Imported[],
  member: string,
): string[] | undefined {
  const definers = imports.filter(({ name }) => name === "defineAuth").map(({ local }) => local);
  const found: string[] = [];
  let isKnown = true;
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isIdentifier(node) && definers.includes(node.text)) {
      const call = node.parent;
      const names = ts.isCallExpression(call) && ts.isVariableDeclaration(call.parent)
        ? call.parent.name
        : undefined;
      if (names === undefined || !ts.isObjectBindingPattern(names)) isKnown = false;
      else {
        for (const { name, propertyName, dotDotDotToken } of names.elements) {
          const key = propertyName ?? name;
          if (!ts.isIdentifier(name) || !ts.isIdentifier(key) || dotDotDotToken) isKnown = false;
          else if (key.text === member) found.push(name.text);
        }
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return isKnown ? found : undefined;
}

/** Checks whether a function may call a function that `defineAuth` returns. */
function usesMember(file: ts.SourceFile, imports: readonly Imported[], member: string): boolean {
  const locals = listMembers(file, imports, member);
  let isUsed = locals === undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && locals?.includes(node.text)) isUsed = true;
    else if (!isDefinition(node)) ts.forEachChild(node, visit);
  };
  if (!isUsed) visit(file);
  return isUsed;
}
