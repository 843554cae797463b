import {
  type Grant,
  grantKey,
  iamKey,
  type LiveGrants,
  objectKey,
  readGrantKey,
} from "./live_grants.ts";
import type {
  PermissionAction,
  PermissionObject,
  PermissionStatement,
} from "./permission_statement.ts";
import { keywordSet } from "../../sql/list_words.ts";

/** Result of all statements of the files for one privilege. */
export interface DeclaredGrant {
  /** Last statement about the privilege. */
  statement: PermissionStatement;
  /** True if it is granted at the end, and not revoked. */
  isGranted: boolean;
  /** True if it is granted WITH GRANT OPTION. */
  grantable: boolean;
}

/** Declarations of permission files, in a form that can be compared with a database. */
export interface DeclaredGrants {
  /** By `grantKey`. */
  grants: Map<string, DeclaredGrant>;
  /** By `iamKey`. */
  iam: Map<string, { statement: PermissionStatement; isGranted: boolean }>;
  /** Roles that the files create. */
  roles: Map<string, { statement: PermissionStatement; canLogin: boolean }>;
  /** Roles that the files mention: their other permissions are a surplus. */
  managed: Set<string>;
}

/**
 * Evaluates the statements like the server, without running them.
 *
 * @param statements The statements of all files.
 * @param live Resolves names and ALL.
 * @param isDistSql True for the distributed provider: schema public needs no grants there, and
 * statements with the comment grant whole tables instead of columns.
 */
export function declareGrants(
  statements: readonly PermissionStatement[],
  live: LiveGrants,
  isDistSql: boolean,
): DeclaredGrants {
  const declared: DeclaredGrants = {
    grants: new Map(),
    iam: new Map(),
    roles: new Map(),
    managed: new Set(),
  };
  for (const statement of statements) {
    const { action } = statement;
    switch (action.kind) {
      case "create_role":
        declared.roles.set(action.role, { statement, canLogin: action.canLogin });
        declared.managed.add(action.role);
        break;
      case "iam_grant":
      case "iam_revoke":
        declared.iam.set(iamKey(action.role, action.arn), {
          statement,
          isGranted: action.kind === "iam_grant",
        });
        declared.managed.add(action.role);
        break;
      case "grant":
      case "revoke":
        for (const role of action.roles) if (role !== null) declared.managed.add(role);
        declare(
          declared,
          statement,
          isDistSql ? widen(statement, action) : action,
          live,
          isDistSql,
        );
    }
  }
  return declared;
}

type GrantAction = PermissionAction & { kind: "grant" | "revoke" };

function widen({ isWholeTableOnDistSql }: PermissionStatement, action: GrantAction): GrantAction {
  if (!isWholeTableOnDistSql) return action;
  return { ...action, privileges: action.privileges.map(({ name }) => ({ name, columns: [] })) };
}

function declare(
  declared: DeclaredGrants,
  statement: PermissionStatement,
  action: GrantAction,
  live: LiveGrants,
  isDistSql: boolean,
): void {
  const isGranted = action.kind === "grant";
  for (const grant of expand(action, live)) {
    if (isDistSql && grant.type === "schema" && grant.name === "public") continue;
    const key = grantKey(grant);
    const before = declared.grants.get(key);
    const grantable = action.grantable || (before?.isGranted === true && before.grantable);
    declared.grants.set(key, { statement, isGranted, grantable: isGranted && grantable });
  }
  if (!isGranted) revokeColumns(declared, statement, action, live);
}

/**
 * Revokes a privilege on the columns of a table, as REVOKE on the table does (PostgreSQL 18,
 * REVOKE).
 */
function revokeColumns(
  declared: DeclaredGrants,
  statement: PermissionStatement,
  action: GrantAction,
  live: LiveGrants,
): void {
  const whole = new Set(
    expand(action, live).filter(({ column }) => column === undefined).map(grantKey),
  );
  for (const key of new Set([...declared.grants.keys(), ...live.grants.keys()])) {
    const grant = readGrantKey(key);
    if (grant.column === undefined || !whole.has(grantKey({ ...grant, column: undefined }))) {
      continue;
    }
    declared.grants.set(key, { statement, isGranted: false, grantable: false });
  }
}

function expand(action: GrantAction, live: LiveGrants): Grant[] {
  const grants: Grant[] = [];
  for (const object of action.objects.flatMap((one) => resolveObject(one, live))) {
    for (const { name, columns } of action.privileges) {
      const names = name === "ALL" ? live.allPrivileges[object.type] : [name];
      // columns have only these of all privileges
      const own = columns.length === 0 ? names : names.filter((one) => COLUMN_PRIVILEGES.has(one));
      for (const privilege of own) {
        for (const column of columns.length === 0 ? [undefined] : columns) {
          for (const role of action.roles) grants.push({ ...object, column, role, privilege });
        }
      }
    }
  }
  return grants;
}

const COLUMN_PRIVILEGES: ReadonlySet<string> = keywordSet("SELECT INSERT UPDATE REFERENCES");

/**
 * Resolves a name to objects. An object that does not exist is resolved to the schema where it
 * would be created.
 */
function resolveObject(
  { type, schema, name }: PermissionObject,
  live: LiveGrants,
): Pick<Grant, "type" | "schema" | "name">[] {
  if (name === undefined) {
    return [...live.owners.keys()].map((key) => JSON.parse(key) as [typeof type, string, string])
      .filter(([ownType, ownSchema]) => ownType === type && ownSchema === schema)
      .map(([, ownSchema, ownName]) => ({ type, schema: ownSchema, name: ownName }));
  }
  if (type === "schema") return [{ type, schema: name, name }];
  const schemas = schema === undefined ? live.searchPath : [schema];
  // GRANT ON TABLE accepts sequences too
  for (const one of schemas) {
    for (const ownType of type === "table" ? ["table", "sequence"] as const : [type]) {
      if (live.owners.has(objectKey(ownType, one, name))) {
        return [{ type: ownType, schema: one, name }];
      }
    }
  }
  return [{ type, schema: schemas[0] ?? "public", name }];
}

/**
 * Checks whether the database differs from a declared grant. An additional privilege counts only if
 * the files revoke it.
 */
export function differs(
  present: boolean | undefined,
  { isGranted, grantable }: DeclaredGrant,
): boolean {
  return isGranted ? present === undefined || (grantable && !present) : present !== undefined;
}
