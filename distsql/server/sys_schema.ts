import type { Query } from "./jobs.ts";
import { quoteName } from "../../sql/quote.ts";

/**
 * The provider's `sys` schema: views over tables that only the server writes, so that a job or
 * mapping created in a transaction appears with its COMMIT.
 *
 * Columns as recorded on a cluster (EMU 2026-09-15) and documented (SYS).
 */
const SYS_SCHEMA = `
CREATE SCHEMA IF NOT EXISTS sys;
CREATE TABLE IF NOT EXISTS sys.job_records (
  job_id text PRIMARY KEY,
  status text NOT NULL,
  details text,
  job_type text NOT NULL,
  class_id oid NOT NULL DEFAULT 1259,
  object_id oid,
  object_name text,
  start_time timestamptz NOT NULL DEFAULT now(),
  update_time timestamptz NOT NULL DEFAULT now(),
  table_name text,
  work text
);
CREATE OR REPLACE VIEW sys.jobs AS
  SELECT job_id, status, details, job_type, class_id, object_id, object_name, start_time, update_time
  FROM sys.job_records
  WHERE status IN ('submitted', 'processing') OR update_time > now() - interval '30 minutes';
CREATE TABLE IF NOT EXISTS sys.iam_mapping_records (
  iam_oid bigint GENERATED ALWAYS AS IDENTITY,
  arn text NOT NULL,
  pg_role_name text NOT NULL,
  grantor_pg_role_name text NOT NULL,
  UNIQUE (pg_role_name, arn)
);
CREATE OR REPLACE VIEW sys.iam_pg_role_mappings AS
  SELECT m.iam_oid, m.arn, r.oid AS pg_role_oid, m.pg_role_name, g.oid AS grantor_pg_role_oid, m.grantor_pg_role_name
  FROM sys.iam_mapping_records m
  JOIN pg_roles r ON r.rolname = m.pg_role_name
  LEFT JOIN pg_roles g ON g.rolname = m.grantor_pg_role_name;
CREATE OR REPLACE PROCEDURE sys.wait_for_job(job_id text, INOUT succeeded boolean DEFAULT NULL)
  LANGUAGE sql SECURITY DEFINER
  AS $$ SELECT EXISTS (SELECT FROM sys.job_records r WHERE r.job_id = $1 AND r.status = 'completed') $$;
GRANT USAGE ON SCHEMA sys TO PUBLIC;
GRANT SELECT ON sys.jobs, sys.iam_pg_role_mappings TO PUBLIC;
`;

/**
 * Prepares a database: the `sys` schema and the role `admin`, which owns the database and can
 * create roles, but is not a superuser.
 *
 * @param query Runs SQL as the superuser; can be repeated on a prepared database.
 */
export async function prepareDatabase(query: Query): Promise<void> {
  const [[database, hasAdmin]] = await query(
    "SELECT current_database(), EXISTS (SELECT FROM pg_roles WHERE rolname = 'admin')",
  );
  if (hasAdmin === "f") await query("CREATE ROLE admin LOGIN CREATEROLE");
  await query(`ALTER DATABASE ${quoteName(database ?? "")} OWNER TO admin`);
  await query("GRANT ALL ON SCHEMA public TO admin");
  await query(SYS_SCHEMA);
}
