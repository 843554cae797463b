import type postgres from "postgres";

/** Describes a database with the views of the SQL standard, unlike the code under test. */
const DESCRIBE: readonly string[] = [
  `SELECT table_schema, table_name, column_name, data_type, udt_schema, udt_name, is_nullable,
    column_default, is_identity, identity_generation, identity_start, generation_expression,
    character_maximum_length, numeric_precision, numeric_scale, datetime_precision
    FROM information_schema.columns WHERE table_schema IN ('public', 'app') AND NOT starts_with(column_name, '__orm_kept_')
    ORDER BY 1, 2, 3`,
  `SELECT schemaname, tablename, indexdef FROM pg_indexes
    WHERE schemaname IN ('public', 'app') ORDER BY 1, 2, 3`,
  `SELECT conrelid::regclass::text AS relation, conname, contype, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE contype <> 'n' AND conrelid <> 0
    AND connamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'app'))
    ORDER BY 1, 2`,
  `SELECT enumtypid::regtype::text AS enum, enumlabel FROM pg_enum
    WHERE NOT starts_with(enumtypid::regtype::text, '__orm_kept_') ORDER BY 1, enumsortorder`,
];

type Row = Record<string, unknown>;

/**
 * Describes a database.
 *
 * @param isRenamed True if constraints, indexes and sequences keep the names that they had before
 * their table or column got another one.
 */
export async function describeDatabase(
  client: postgres.Sql,
  isRenamed: boolean,
): Promise<unknown[]> {
  const rows: Row[][] = [];
  for (const text of DESCRIBE) rows.push([...await client.unsafe(text)]);
  return isRenamed ? rows.map((each) => each.map(withoutNames).sort()) : rows;
}

function withoutNames({ conname: _, indexdef, column_default: value, ...rest }: Row): string {
  const definition = indexdef && String(indexdef).replace(/ INDEX \S+ ON /, " INDEX ON ");
  const sequence = value && String(value).replace(/nextval\('[^']*'/, "nextval('");
  return JSON.stringify({ ...rest, definition, sequence });
}

/** Removes all objects. */
export async function clearDatabase(client: postgres.Sql): Promise<void> {
  const schemas = await client.unsafe(
    "SELECT quote_ident(nspname) AS name FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$'",
  );
  for (const { name } of schemas) await client.unsafe(`DROP SCHEMA ${name} CASCADE`);
  await client.unsafe("CREATE SCHEMA public");
}
