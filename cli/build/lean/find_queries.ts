import type { Project } from "../../analysis/project.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { getFactoryMember } from "../precompile_queries/find_statements.ts";

/** A query of this package's factory. */
export interface SourceQuery {
  readonly node: ts.CallExpression;
  readonly options: ts.Expression;
  /** The value of `tables` in options that are an object. */
  readonly tables?: ts.Expression;
  /** True if the query is a function expression, so that its evaluation has no effect. */
  readonly isFunction: boolean;
}

const MEMBERS: ReadonlySet<string | undefined> = new Set(["defineQuery", "definePreparedQuery"]);

/** Finds the queries of a module. */
export function findQueries(project: Project, { source }: SourceModule): SourceQuery[] {
  const found: SourceQuery[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node) || !MEMBERS.has(getFactoryMember(project, node))) return;
    const [options, fn] = node.arguments;
    if (options === undefined || fn === undefined || ts.isSpreadElement(options)) return;
    const query = unwrap(fn);
    const isFunction = ts.isArrowFunction(query) || ts.isFunctionExpression(query);
    found.push({ node, options, tables: findTables(unwrap(options)), isFunction });
  };
  visit(source);
  return found;
}

function findTables(options: ts.Expression): ts.Expression | undefined {
  if (!ts.isObjectLiteralExpression(options)) return undefined;
  if (options.properties.some((each) => ts.isSpreadAssignment(each))) return undefined;
  const found = options.properties.find((each) => each.name?.getText() === "tables");
  return found !== undefined && ts.isPropertyAssignment(found) ? found.initializer : undefined;
}
