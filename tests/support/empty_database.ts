/** Drops what a test has made, and forgets what it has set. */
const RESET = [
  "DISCARD ALL",
  `DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT nspname FROM pg_namespace
      WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' LOOP
      EXECUTE format('DROP SCHEMA %I CASCADE', name);
    END LOOP;
  END $$`,
  "CREATE SCHEMA public AUTHORIZATION pg_database_owner",
  "GRANT USAGE ON SCHEMA public TO PUBLIC",
];

/** Objects of users outside of schemas, which `RESET` leaves behind. */
const LEFT = `SELECT FROM pg_authid WHERE oid >= 16384
  UNION ALL SELECT FROM pg_database WHERE oid >= 16384
  UNION ALL SELECT FROM pg_class WHERE oid >= 16384
  UNION ALL SELECT FROM pg_proc WHERE oid >= 16384
  UNION ALL SELECT FROM pg_type WHERE oid >= 16384
  UNION ALL SELECT FROM pg_cast WHERE oid >= 16384
  UNION ALL SELECT FROM pg_extension WHERE oid >= 16384
  UNION ALL SELECT FROM pg_tablespace WHERE oid >= 16384
  UNION ALL SELECT FROM pg_db_role_setting
  UNION ALL SELECT FROM pg_default_acl
  UNION ALL SELECT FROM pg_shdescription WHERE objoid >= 16384
  UNION ALL SELECT FROM pg_foreign_data_wrapper
  UNION ALL SELECT FROM pg_event_trigger
  UNION ALL SELECT FROM pg_publication
  UNION ALL SELECT FROM pg_largeobject_metadata`;

/**
 * Empties an embedded database, so that another test can use it.
 *
 * @param query Sends a statement.
 * @returns Whether it is as a new one. Roles, for example, are not dropped.
 */
export async function emptyDatabase(
  query: (text: string) => Promise<readonly unknown[]>,
): Promise<boolean> {
  for (const statement of RESET) await query(statement);
  return (await query(LEFT)).length === 0;
}
