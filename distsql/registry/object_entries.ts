import { DistSqlAction, DistSqlCategory, type DistSqlIncompatibility } from "./incompatibility.ts";
import { inCategory } from "./in_category.ts";

const { DDL, Function, Permission } = DistSqlCategory;
const { AppLayer, Compatible, Error, Rewrite, Strip } = DistSqlAction;

/** Entries about objects other than tables and indexes, roles and grants. */
export const OBJECT_ENTRIES: readonly DistSqlIncompatibility[] = [
  ...inCategory(DDL, [
    {
      id: "sequence-cache",
      action: Rewrite,
      title: "CREATE SEQUENCE without CACHE, or with CACHE 2 to 65535",
      advice: "CACHE is added: 1 keeps values in order, 65536 is faster but leaves gaps.",
      since: "2026-02-28",
      message: "CREATE SEQUENCE is not supported without an explicit cache " +
        "size. please define CACHE greater than or equal to " +
        "65536 or equal to 1",
      source: ["EMU", "CS"],
    },
    {
      id: "sequence-type",
      action: Rewrite,
      title: "Sequence AS integer or smallint",
      advice: "The type is changed to bigint.",
      since: "2026-02-28",
      sqlState: "0A000",
      source: ["EMU", "CS"],
    },
    {
      id: "sequence-unsupported",
      action: Error,
      title: "Sequences",
      advice: "Use uuid keys.",
      until: "2026-02-27",
      sqlState: "0A000",
      source: ["REL"],
    },
  ]),
  ...inCategory(Function, [
    {
      id: "extension",
      action: Strip,
      title: "CREATE, ALTER and DROP EXTENSION",
      advice: "Omitted: there are no extensions. Statements that use one are rejected.",
      message: "unsupported statement: CreateExtension",
      source: ["EMU"],
    },
    {
      id: "uuid-function",
      action: Rewrite,
      title: "uuid_generate_v4(), uuidv4()",
      advice: "Replaced by the built-in gen_random_uuid().",
      sqlState: "42883",
      source: ["LINT", "PROBE"],
    },
    {
      id: "uuid-function-unsupported",
      action: AppLayer,
      title: "Other uuid generators: uuid_generate_v1, v3, v5, uuidv7",
      advice: "Generate the uuid in the application.",
      sqlState: "42883",
      source: ["EMU"],
      evidence: "inferred",
    },
    {
      id: "function-language",
      action: Error,
      title: "CREATE FUNCTION in plpgsql and other languages",
      advice: "Write it in SQL (LANGUAGE sql), or do it in the application.",
      message: "CREATE FUNCTION with language plpgsql not supported",
      source: ["EMU"],
    },
    {
      id: "function-properties",
      action: Error,
      title: "ALTER FUNCTION with properties: IMMUTABLE, STRICT, COST, SET and others",
      advice: "Set them with CREATE OR REPLACE FUNCTION.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "procedure",
      action: Error,
      title: "CREATE PROCEDURE, and CALL of a procedure that is not the provider's",
      advice: "Do it in the application.",
      message: "PROCEDURE is not supported",
      source: ["EMU"],
    },
    {
      id: "do-block",
      action: Error,
      title: "DO blocks",
      advice: "Write the statements without the block, and conditions in the application.",
      sqlState: "0A000",
      source: ["EMU", "LINT"],
    },
    {
      id: "do-block-unwrapped",
      action: Rewrite,
      title: "DO block around a single statement that ignores duplicate_object",
      advice: "Taken out of the block; if the object exists, the server returns SQLSTATE 42710, " +
        "42P07 or 42701, which runMigrations ignores.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "trigger",
      action: AppLayer,
      title: "CREATE TRIGGER",
      advice: "Do it in the application, in the same transaction.",
      message: "CREATE TRIGGER not supported",
      source: ["EMU"],
    },
  ]),
  ...inCategory(DDL, [
    {
      id: "materialized-view",
      action: Error,
      title: "Materialized views",
      advice: "Use a plain view, or a table that the application fills.",
      message: "unsupported statement: CreateTableAs",
      source: ["EMU"],
    },
    {
      id: "statistics",
      action: Strip,
      title: "CREATE, ALTER and DROP STATISTICS",
      advice: "Omitted.",
      until: "2026-08-26",
      sqlState: "0A000",
      source: ["REL"],
    },
    {
      id: "create-object-unsupported",
      action: Error,
      title: "Rules, operators, casts, aggregates, collations, foreign " +
        "tables, publications, tablespaces, databases",
      advice: "Remove it, or do it in the application.",
      sqlState: "0A000",
      source: ["LINT", "EMU"],
      evidence: "tool",
    },
    {
      id: "drop-object-unsupported",
      action: Strip,
      title: "DROP and COMMENT ON of objects that do not exist on the provider",
      advice: "Omitted: there is nothing to drop.",
      message: "unsupported object in DROP statement",
      source: ["EMU"],
    },
    {
      id: "create-schema-elements",
      action: Error,
      title: "CREATE SCHEMA with objects in it",
      advice:
        "Write a statement for each object: a transaction can contain only one schema change.",
      message: "multiple ddl statements not supported in a transaction",
      source: ["EMU"],
      evidence: "inferred",
    },
  ]),
  ...inCategory(Permission, [
    {
      id: "role-options",
      action: Rewrite,
      title: "CREATE USER, and role options with their default value",
      advice: "Written as CREATE ROLE … WITH LOGIN.",
      source: ["ROLE"],
      evidence: "inferred",
    },
    {
      id: "role-password",
      action: Error,
      title: "Roles with PASSWORD, SUPERUSER, CREATEDB and similar options",
      advice: "LOGIN is the only role option: map an IAM role to it with AWS IAM GRANT.",
      source: ["ROLE"],
      evidence: "inferred",
    },
    {
      id: "role-alter",
      action: Error,
      title: "ALTER ROLE with options, such as LOGIN",
      advice: "Create the role with the options that it needs. RENAME and RESET are kept.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "role-settings",
      action: Error,
      title: "ALTER ROLE … SET, and IN DATABASE",
      advice: "Set it in the connection. ALTER ROLE … RESET is kept.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "default-privileges",
      action: Error,
      title: "ALTER DEFAULT PRIVILEGES",
      advice: "Grant on each table after it is created, for example with permission files.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "owned-objects",
      action: Error,
      title: "DROP OWNED and REASSIGN OWNED",
      advice: "Write ALTER … OWNER TO, REVOKE or DROP for each object.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "iam-grant",
      action: Compatible,
      title: "AWS IAM GRANT and AWS IAM REVOKE",
      advice: "Run as written. adaptForStandardPg omits them for PostgreSQL.",
      source: ["ROLE"],
    },
    {
      id: "grant-schema-public",
      action: Strip,
      title: "GRANT on the schemas public, pg_catalog and sys, " +
        "REVOKE CREATE on them, COMMENT ON SCHEMA public",
      advice:
        "Omitted: every role can use this system schema, and only admin can create objects in " +
        "it.",
      message: "feature not supported on system entity",
      source: ["PROBE"],
    },
    {
      id: "revoke-schema-public",
      action: Error,
      title: "REVOKE of USAGE or ALL on the schemas public, pg_catalog and sys",
      advice: "Put restricted objects into another schema.",
      message: "feature not supported on system entity",
      source: ["PROBE"],
    },
  ]),
  ...inCategory(DDL, [
    {
      id: "system-schema",
      action: Error,
      title: "ALTER and DROP of the schemas public, pg_catalog and sys",
      advice: "Drop the tables one by one, or use another schema.",
      message: "feature not supported on system entity",
      source: ["PROBE"],
      evidence: "inferred",
    },
  ]),
  ...inCategory(Permission, [
    {
      id: "grant-catalog-version",
      action: Compatible,
      title: "GRANT and REVOKE count as DDL",
      advice: "Run each in a transaction of its own. The next statement of other sessions fails " +
        "once with OC001.",
      source: ["ROLE", "PROBE"],
    },
  ]),
];
