import type { Problem } from "../project/findings.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { createWrapperCheck } from "../sources/wrapper_packages.ts";
import { toBareSpecifier, TRELLIS } from "../sources/package_specifier.ts";
import { readAuthNeeds } from "./auth_needs.ts";
import { readOwnTableNeeds } from "./job_needs.ts";
import { type QueryNeeds, readQueryNeeds } from "./query_needs.ts";
import { loadSqlReader, type SqlReader } from "./sql_access.ts";

/** What a function needs of the database. */
export interface PermissionFacts extends QueryNeeds {
  readonly usesDatabase: boolean;
  /** True if it mounts some auth routes only. */
  readonly limitsRoutes: boolean;
}

let reader: Promise<SqlReader> | undefined;

/** Loads the reader. Functions whose queries have no SQL do not need its parser. */
async function loadReader(): Promise<SqlReader> {
  return await loadSqlReader().catch((error) => () => {
    throw error;
  });
}

/** Reads what a function needs of the database. */
export async function read(fn: LoadedFunction): Promise<PermissionFacts> {
  const readSql = await (reader ??= loadReader());
  const auth = readAuthNeeds(fn);
  const own = readOwnTableNeeds(fn);
  const queries = readQueryNeeds(fn, readSql);
  const noHandler = fn.module.handler === undefined
    ? [{
      place: { file: fn.file, line: 1 },
      message: "the file does not export a handler. Write export " +
        "const handler = defineApiHandler({ … })(…)",
    }]
    : [];
  return {
    ...queries,
    limitsRoutes: auth.limitsRoutes,
    usesDatabase: queries.queries.length > 0 || queries.sequences.length > 0 || auth.usesAuth ||
      own.length > 0,
    tables: [...queries.tables, ...auth.tables, ...own],
    unresolved: [
      ...noHandler,
      ...findComputedImports(fn),
      ...auth.unresolved,
      ...queries.unresolved,
    ],
    missed: [...queries.missed, ...findWrappers(fn)],
    warnings: [...auth.warnings, ...queries.warnings],
  };
}

/** Finds imports whose module is only known at run time: what it defines is not in the bundle. */
export function findComputedImports(fn: LoadedFunction): Problem[] {
  const message = "the name of an imported module is computed at run time";
  return fn.syntax.imports.filter((node) => {
    const source = node.type === "ImportExpression" ? node.source : node.arguments[0];
    return source?.type !== "Literal";
  }).map((node) => ({ place: fn.getPlace(node), message }));
}

/** Finds packages that depend on this one. */
function findWrappers(fn: LoadedFunction): Problem[] {
  const wraps = createWrapperCheck(fn.root);
  const { packages, listReferences } = fn.syntax;
  return [...packages].flatMap(([imported, names]) => {
    const specifier = toBareSpecifier(
      /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(imported)?.[1] ?? imported,
    );
    if (/^(?:node|file|https?):/.test(specifier) || !wraps(specifier)) return [];
    const [use] = names.flatMap(listReferences);
    return [{
      place: use === undefined ? { file: fn.file, line: 1 } : fn.getPlace(use),
      message:
        `${specifier} depends on ${TRELLIS}, and packages are not analyzed: list its grants in ` +
        "permissions.functions of trellis.config.ts (an empty list if it needs none)",
    }];
  });
}

/** Merges the needs without and with optional environment variables: a function has the grants for both. */
export function merge(facts: PermissionFacts, others: PermissionFacts): PermissionFacts {
  const merged = Object.entries(facts).map(([name, value]) => {
    const other = others[name as keyof PermissionFacts];
    return [name, Array.isArray(value) ? [...value, ...other as unknown[]] : value || other];
  });
  return Object.fromEntries(merged);
}
