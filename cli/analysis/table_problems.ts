import { DatabaseOperation } from "../../database/table_permission.ts";
import type { Collection } from "./collect.ts";
import { CALL, type QueryDeclaration } from "./effects.ts";
import { reach } from "./reach.ts";
import type { Reached } from "./reached.ts";
import { TRELLIS } from "./resolve_module.ts";
import { readStatementTables } from "./statement_tables.ts";
import { readTableColumns } from "./table_columns.ts";
import type { ts } from "./typescript.ts";
import { type Evaluator, printTable, type TableName } from "./values.ts";

/** A message about a node. */
export interface Problem {
  readonly node: ts.Node;
  readonly message: string;
}

/**
 * Finds accesses of tables outside of queries, for which no grant is generated.
 *
 * @param outside Everything that is reachable without entering queries.
 */
export function findAccessesOutsideQueries(outside: Reached): Problem[] {
  const accesses = outside.list("table-access").map(({ node, table, operation }) => ({
    node,
    message:
      `table ${printTable(table)} is ${
        verb(operation)
      } outside a declared query, so no grant is generated: ` +
      "move it into a defineQuery that lists the table",
  }));
  const opaque = outside.list("opaque-sql").map(({ node }) => ({
    node,
    message:
      "the tables of this SQL are computed at run time: move it into a defineQuery that lists them",
  }));
  return [...accesses, ...opaque];
}

/** Describes a package that depends on this one. */
export function describeWrapper(module: string): string {
  return `${module} depends on ${TRELLIS}, and packages are not analyzed: list its grants in ` +
    "permissions.functions of trellis.config.ts (an empty list if it needs none)";
}

/** The auth modes and options that need a configuration, by the reason of their grants. */
const AUTH_SETUPS = {
  "auth: session": {
    isConfigured: (reached: Reached) => reached.has("auth-configured"),
    message: "auth is 'session', but no module that the function loads " +
      "calls configureSessionAuth: requests will fail",
  },
  "auth: api-key": {
    isConfigured: (reached: Reached) => reached.getAuthTables().has("apikey"),
    message:
      "auth is 'api-key', but no module that the function loads calls configureApiKeyAuth with " +
      "schema.apikey: requests will fail",
  },
  "organization of the session": {
    isConfigured: (reached: Reached) =>
      ["organization", "member"].every((model) => reached.getAuthTables().has(model)),
    message: "the option organization needs the tables organization and " +
      "member in AuthConfig.schema: requests will fail",
  },
} as const;

/** Finds handlers whose auth mode or options are not configured. */
export function findSessionProblems(evaluator: Evaluator, reached: Reached): Problem[] {
  const setups = Object.entries(AUTH_SETUPS).flatMap(([why, { isConfigured, message }]) => {
    const use = reached.list("auth").find((each) => each.why === why);
    return use === undefined || isConfigured(reached) ? [] : [{ node: use.node, message }];
  });
  return [...setups, ...findRoleProblems(evaluator, reached)];
}

/** Finds handlers with the option `roles` whose sessions have no column `role`. */
function findRoleProblems(evaluator: Evaluator, reached: Reached): Problem[] {
  const node = reached.list("auth-roles").at(-1)?.node;
  if (node === undefined || !reached.has("auth-configured")) return [];
  const hasRole = (reached.getAuthTables().get("user") ?? []).some(({ definition }) =>
    definition === undefined || (readTableColumns(evaluator, definition)?.has("role") ?? true)
  );
  if (hasRole && !reached.getHiddenFields().has("user.role")) return [];
  const message = "the option roles needs the column role in the table user of " +
    "AuthConfig.schema: requests will fail";
  return [{ node, message }];
}

/** A problem in a query. */
export interface QueryProblem extends Problem {
  /** True if a grant may be missing. */
  readonly isMissed: boolean;
}

const accessesByQuery: WeakMap<QueryDeclaration, QueryProblem[]> = new WeakMap();

/** Compares the tables that a query uses with those that it declares. */
export function findUndeclaredAccesses(
  collection: Collection,
  evaluator: Evaluator,
  query: QueryDeclaration,
): QueryProblem[] {
  const known = accessesByQuery.get(query);
  if (known !== undefined) return known;
  if (query.tables === undefined) {
    const { problems } = readStatementTables(collection, evaluator, query);
    const missed = problems.map((problem) => ({ ...problem, isMissed: true }));
    accessesByQuery.set(query, missed);
    return missed;
  }
  const declared = reach(collection, evaluator, [query.tables]);
  const body = query.fn === undefined ? [] : [collection.units.get(query.fn, [CALL]).unit];
  const problems: QueryProblem[] = [];
  accessesByQuery.set(query, problems);
  // without known tables a comparison is not possible
  if (declared.list("unresolved").some(({ subject }) => subject !== "environment")) return problems;
  const accesses = reach(collection, evaluator, body, false);
  for (const { node } of accesses.list("opaque-sql")) {
    const message =
      `the tables of this SQL in ${query.name} are computed at run time: list all of them`;
    problems.push({ node, message, isMissed: !declared.has("grant") });
  }
  for (const { node, table, operation } of accesses.list("table-access")) {
    const name = printPublic(table);
    const grants = declared.list("grant").filter((grant) => printPublic(grant.table) === name);
    const isDeclared = grants.some(({ operations }) =>
      operation === undefined || operations.includes(operation)
    );
    if (isDeclared) continue;
    problems.push({
      node,
      isMissed: true,
      message: grants.length === 0
        ? `${query.name} uses table ${name}, which is missing in its tables`
        : `${query.name} needs ${operation} on table ${name}, which is missing in its tables`,
    });
  }
  return problems;
}

/** Formats a table name without `public`, the default schema. */
function printPublic({ schema, name }: TableName): string {
  return printTable(schema === "public" ? { name } : { schema, name });
}

function verb(operation: DatabaseOperation | undefined): string {
  if (operation === undefined) return "used";
  return operation === DatabaseOperation.Select ? "read" : "written";
}
