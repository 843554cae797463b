import type { Project } from "../../analysis/project.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import { findDeclaration } from "../../analysis/scopes.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { isTrellis } from "../../analysis/values.ts";

/** A chain of drizzle's builders in the sources: `db.select().from(notes).prepare("list")`. */
export interface SourceStatement {
  /** Its file with its name: `src/queries/notes.ts#list`. */
  readonly key: string;
  /** The name passed to `.prepare(name)`. */
  readonly name: string;
  /** The call of `.prepare(name)`. */
  readonly node: ts.CallExpression;
  /** The client: the first parameter of the query. */
  readonly client: ts.ParameterDeclaration;
}

/** A query or a statement that is left to drizzle. */
export interface LeftQuery {
  readonly node: ts.Node;
  /** The reason. */
  readonly message: string;
}

/** The statements of a module. */
export interface QueryModuleSource {
  readonly module: SourceModule;
  readonly statements: readonly SourceStatement[];
  readonly left: readonly LeftQuery[];
  /** Queries of this package's factory, which can be omitted if they are not used. */
  readonly queries: readonly ts.CallExpression[];
}

/**
 * Finds the statements that the queries of a module prepare.
 *
 * @param project The sources.
 * @param module The module.
 */
export function findStatements(project: Project, module: SourceModule): QueryModuleSource {
  const statements: SourceStatement[] = [];
  const left: LeftQuery[] = [];
  const queries: ts.CallExpression[] = [];
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node) || !isPreparedQuery(node)) return;
    if (isOfFactory(project, node)) queries.push(node);
    const prepared = listPrepared(node);
    if (prepared.length === 0) {
      left.push({ node, message: 'no statement is a chain from the client to .prepare("name")' });
    }
    for (const { name, ...chain } of prepared) {
      if (prepared.filter((each) => each.name === name).length > 1) {
        left.push({ node: chain.node, message: `${name}: another statement has this name` });
        continue;
      }
      const label = names.has(name) ? `${name}:${project.getLine(chain.node)}` : name;
      names.add(label);
      statements.push({ key: `${project.getPath(node)}#${label}`, name, ...chain });
    }
  };
  visit(module.source);
  return { module, statements, left, queries };
}

function isPreparedQuery({ expression }: ts.CallExpression): boolean {
  const callee = unwrap(expression);
  const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
  return ts.isIdentifier(name) && name.text === "definePreparedQuery";
}

/** Checks that the callee comes from `const { definePreparedQuery } = createQueryFactory(getDb)`. */
function isOfFactory(project: Project, node: ts.CallExpression): boolean {
  return getFactoryMember(project, node) === "definePreparedQuery";
}

/** Returns the member of a factory that is called: `defineQuery` or `definePreparedQuery`. */
export function getFactoryMember(
  project: Project,
  { expression }: ts.CallExpression,
): string | undefined {
  if (ts.isPropertyAccessExpression(expression)) {
    const { expression: owner, name } = expression;
    const declared = ts.isIdentifier(owner) ? getDeclaration(project, owner) : undefined;
    return isFactory(project, declared) ? name.text : undefined;
  }
  const element = ts.isIdentifier(expression) ? getDeclaration(project, expression) : undefined;
  if (element === undefined || !ts.isBindingElement(element)) return undefined;
  const { propertyName, name, parent: { parent: declared } } = element;
  return isFactory(project, declared) ? ((propertyName ?? name) as ts.Identifier).text : undefined;
}

function getDeclaration(project: Project, name: ts.Identifier): ts.Node | undefined {
  const target = project.getTarget(name);
  return target.kind === "declaration" ? target.node : undefined;
}

/** Checks for `const queries = createQueryFactory(getDb)`. */
function isFactory(project: Project, declared: ts.Node | undefined, hops = 5): boolean {
  if (declared === undefined || !ts.isVariableDeclaration(declared)) return false;
  const value = declared.initializer && unwrap(declared.initializer);
  if (value === undefined || declared.parent.flags & ts.NodeFlags.Let) return false;
  if (ts.isIdentifier(value)) {
    return hops > 0 && isFactory(project, getDeclaration(project, value), hops - 1);
  }
  if (!ts.isCallExpression(value) || !ts.isIdentifier(value.expression)) return false;
  const create = project.getTarget(value.expression);
  return create.kind === "package" && isTrellis(create.module) &&
    create.name === "createQueryFactory";
}

/** Lists the statements of `definePreparedQuery(options, function (db) {})`. */
function listPrepared(query: ts.CallExpression): Omit<SourceStatement, "key">[] {
  const fn = query.arguments[1] && unwrap(query.arguments[1]);
  if (fn === undefined || !(ts.isArrowFunction(fn) || ts.isFunctionExpression(fn))) return [];
  const [client] = fn.parameters;
  if (client === undefined || fn.asteriskToken !== undefined) return [];
  const found: Omit<SourceStatement, "key">[] = [];
  const visit = (node: ts.Node): void => {
    const name = getPreparedName(node, client);
    if (name === undefined) return ts.forEachChild(node, visit);
    found.push({ node: node as ts.CallExpression, name, client });
  };
  ts.forEachChild(fn, visit);
  return found;
}

/** Returns the name of `db.….prepare("name")`. */
function getPreparedName(node: ts.Node, client: ts.ParameterDeclaration): string | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) {
    return undefined;
  }
  const [name] = node.arguments;
  if (node.expression.name.text !== "prepare" || node.arguments.length !== 1) return undefined;
  const root = getRoot(node.expression.expression);
  const isOfClient = ts.isIdentifier(root) && findDeclaration(root) === client;
  return isOfClient && ts.isStringLiteralLike(name) ? name.text : undefined;
}

/** Returns the start of a chain: `db` of `db.select().from(notes)`. */
function getRoot(node: ts.Expression): ts.Expression {
  let root = unwrap(node);
  while (
    (ts.isCallExpression(root) || ts.isPropertyAccessExpression(root)) &&
    root.questionDotToken === undefined
  ) root = unwrap(root.expression);
  return root;
}
