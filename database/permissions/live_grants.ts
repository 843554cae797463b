import type { SqlSession } from "../../sql/session.ts";
import type { PermissionObjectType } from "./permission_statement.ts";

/** Privilege of a role on an object. */
export interface Grant {
  /** Type of the object. */
  type: PermissionObjectType;
  /** Schema; for a schema, its own name. */
  schema: string;
  /** Name of the object. */
  name: string;
  /** The column; `undefined` for the whole object. */
  column: string | undefined;
  /** Role; `null` for PUBLIC. */
  role: string | null;
  /** Privilege in upper case. */
  privilege: string;
}

/** Roles and grants of a database. */
export interface LiveGrants {
  /** Roles; true if the role can log in. */
  roles: Map<string, boolean>;
  /** Privileges by {@link grantKey}; true if granted WITH GRANT OPTION. */
  grants: Map<string, boolean>;
  /** Owners by `schema.name` in {@link objectKey}'s form. */
  owners: Map<string, string>;
  /** Schemas to search for unqualified names. */
  searchPath: string[];
  /** Privileges included in ALL. */
  allPrivileges: Record<PermissionObjectType, string[]>;
  /** IAM mappings by {@link iamKey}; `undefined` if the server has none. */
  iam: Set<string> | undefined;
}

/** Returns the key of a grant. */
export function grantKey({ type, schema, name, column, role, privilege }: Grant): string {
  return JSON.stringify([type, schema, name, column ?? null, role, privilege]);
}

/** Parses the key of a grant. */
export function readGrantKey(key: string): Grant {
  const [type, schema, name, column, role, privilege] = JSON.parse(key);
  return { type, schema, name, column: column ?? undefined, role, privilege };
}

/** Returns the key of an object. */
export function objectKey(type: PermissionObjectType, schema: string, name: string): string {
  return JSON.stringify([type, schema, name]);
}

/** Returns the key of an IAM mapping. */
export function iamKey(role: string, arn: string): string {
  return JSON.stringify([role, arn]);
}

const SYSTEM = "('pg_catalog', 'information_schema', 'pg_toast', 'sys')";
const ROLE = "CASE WHEN g.grantee = 0 THEN NULL ELSE pg_get_userbyid(g.grantee)::text END AS role";
const FIELDS = `${ROLE}, g.privilege_type::text AS privilege, g.is_grantable AS grantable`;
const KIND = "CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END";
const TYPE = "CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END";
const RELATIONS = "c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S')";

const QUERIES = {
  roles: "SELECT rolname::text AS role, rolcanlogin AS can_login FROM pg_roles",
  owners: `SELECT ${TYPE} AS type, n.nspname::text AS schema, c.relname::text AS name, ` +
    `pg_get_userbyid(c.relowner)::text AS owner FROM pg_class c ` +
    `JOIN pg_namespace n ON n.oid = c.relnamespace ` +
    `WHERE ${RELATIONS} AND n.nspname NOT IN ${SYSTEM} UNION ALL ` +
    `SELECT 'schema', nspname::text, nspname::text, pg_get_userbyid(nspowner)::text FROM ` +
    `pg_namespace WHERE nspname NOT IN ${SYSTEM}`,
  grants: `SELECT ${TYPE} AS type, n.nspname::text AS schema, ` +
    `c.relname::text AS name, NULL::text AS column, ${FIELDS} ` +
    `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ` +
    `CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, ` +
    `acldefault((${KIND})::"char", c.relowner))) AS g ` +
    `WHERE ${RELATIONS} AND n.nspname NOT IN ${SYSTEM}`,
  columns: `SELECT 'table' AS type, n.nspname::text AS schema, ` +
    `c.relname::text AS name, a.attname::text AS column, ${FIELDS} ` +
    `FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid ` +
    `JOIN pg_namespace n ON n.oid = c.relnamespace ` +
    `CROSS JOIN LATERAL aclexplode(a.attacl) AS g WHERE NOT ` +
    `a.attisdropped AND n.nspname NOT IN ${SYSTEM}`,
  schemas: `SELECT 'schema' AS type, n.nspname::text AS schema, ` +
    `n.nspname::text AS name, NULL::text AS column, ${FIELDS} ` +
    `FROM pg_namespace n CROSS JOIN LATERAL ` +
    `aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS g ` +
    `WHERE n.nspname NOT IN ${SYSTEM}`,
  all: ["r", "s", "n"].map((kind) =>
    `SELECT '${kind}' AS kind, g.privilege_type::text AS privilege FROM pg_roles o ` +
    `CROSS JOIN LATERAL aclexplode(acldefault('${kind}', o.oid)) AS g ` +
    `WHERE o.rolname = current_user AND g.grantee = o.oid`
  ).join(" UNION ALL "),
  searchPath: "SELECT array_to_json(current_schemas(false))::text AS schemas, " +
    "to_regclass('sys.iam_pg_role_mappings') IS NOT NULL AS has_iam",
  iam: "SELECT pg_role_name::text AS role, arn::text AS arn FROM sys.iam_pg_role_mappings",
} as const;

/**
 * Reads the permissions of a database: roles, privileges on tables, columns, sequences and schemas,
 * and IAM mappings if the provider has them. Reads only catalogs that every role can read.
 *
 * @param session Session to read with.
 * @returns The current grants.
 */
export async function readLiveGrants(session: SqlSession): Promise<LiveGrants> {
  const [{ schemas, has_iam: hasIam }] = await session.query(QUERIES.searchPath);
  const live: LiveGrants = {
    roles: new Map(),
    grants: new Map(),
    owners: new Map(),
    searchPath: typeof schemas === "string" ? JSON.parse(schemas) : schemas as string[],
    allPrivileges: { table: [], sequence: [], schema: [] },
    iam: undefined,
  };
  for (const { role, can_login } of await session.query(QUERIES.roles)) {
    live.roles.set(String(role), can_login === true);
  }
  for (const { type, schema, name, owner } of await session.query(QUERIES.owners)) {
    live.owners.set(
      objectKey(type as PermissionObjectType, String(schema), String(name)),
      String(owner),
    );
  }
  for (const query of [QUERIES.grants, QUERIES.columns, QUERIES.schemas]) {
    for (
      const { type, schema, name, column, role, privilege, grantable } of await session.query(query)
    ) {
      const key = grantKey({
        type: type as PermissionObjectType,
        schema: String(schema),
        name: String(name),
        column: column === null ? undefined : String(column),
        role: role === null ? null : String(role),
        privilege: String(privilege),
      });
      live.grants.set(key, grantable === true || live.grants.get(key) === true);
    }
  }
  const types: Record<string, PermissionObjectType> = { r: "table", s: "sequence", n: "schema" };
  for (const { kind, privilege } of await session.query(QUERIES.all)) {
    live.allPrivileges[types[String(kind)]].push(String(privilege));
  }
  if (hasIam === true) {
    live.iam = new Set(
      (await session.query(QUERIES.iam)).map(({ role, arn }) => iamKey(String(role), String(arn))),
    );
  }
  return live;
}
