import { createJobId, insertJobSql, type Query } from "./jobs.ts";
import { SqlError } from "./sql_error.ts";
import type { IamStatement, Statement } from "./statements.ts";
import { child, children, getText, relationName, strings } from "./syntax_tree.ts";
import { quoteLiteral, quoteName } from "../../sql/quote.ts";

/** Two ways to run SQL in a client's transaction. */
export interface DdlConnection {
  /** Runs SQL as the client's role. */
  readonly query: Query;
  /** Runs SQL as the superuser, for work of the provider itself. */
  asSuperuser<T>(work: () => Promise<T>): Promise<T>;
}

/** Maximum number of indexes per table, including the primary key's and unfinished ones (Q). */
const MAX_INDEXES = 24;

/** Qualified, unquoted name of a relation by its OID, as in the provider's job details. */
const QUALIFIED_NAME =
  "n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace";

/**
 * Creates an invalid index and records the job that will build it.
 *
 * PostgreSQL builds the index immediately; the catalog then shows the provider's state: not valid,
 * and unique if requested. The job checks for duplicates and makes it valid.
 *
 * @param backendSql CREATE INDEX without ASYNC and without UNIQUE.
 * @returns The job's id; undefined if IF NOT EXISTS found an index of that name.
 */
export async function createIndexAsync(
  statement: Statement,
  backendSql: string,
  { query, asSuperuser }: DdlConnection,
): Promise<string | undefined> {
  const table = relationName(child(statement.node, "relation"));
  const newest = "SELECT max(indexrelid) FROM pg_index " +
    `WHERE indrelid = ${quoteLiteral(table)}::regclass`;
  const [[before]] = await query(newest);
  await query(backendSql);
  const [[index]] = await query(newest);
  if (index === null || index === before) return undefined;
  const [[badType]] = await query(
    `SELECT min(format_type(a.atttypid, NULL)) FROM pg_attribute ` +
      `a JOIN pg_index i ON i.indexrelid = a.attrelid ` +
      `WHERE a.attrelid = ${index} AND a.attnum <= i.indnkeyatts AND ` +
      `a.atttypid IN ('json'::regtype, 'jsonb'::regtype)`,
  );
  if (badType) throw new SqlError("0A000", `datatype ${badType} is not supported in a key`);
  const [[count, tableName, indexName]] = await query(
    `SELECT (SELECT count(*) FROM pg_index s WHERE s.indrelid = i.indrelid), ` +
      `(SELECT ${QUALIFIED_NAME} WHERE c.oid = i.indrelid), (SELECT ` +
      `${QUALIFIED_NAME} WHERE c.oid = i.indexrelid) ` +
      `FROM pg_index i WHERE i.indexrelid = ${index}`,
  );
  if (Number(count) > MAX_INDEXES) {
    throw new SqlError("54000", `more than ${MAX_INDEXES} indexes per table are not supported`);
  }
  const { unique, nulls_not_distinct: nullsNotDistinct } = statement.node;
  const isUnique = unique === true;
  const jobId = createJobId();
  await asSuperuser(async () => {
    await query(
      `UPDATE pg_index SET indisvalid = false, indisunique = ${isUnique}, ` +
        `indnullsnotdistinct = ${nullsNotDistinct === true} WHERE indexrelid = ${index}`,
    );
    await query(insertJobSql(jobId, {
      type: "INDEX_BUILD",
      objectId: index,
      objectName: indexName ?? "",
      tableName: tableName ?? "",
      // Rebuilding finds duplicates; a non-unique index is already complete.
      work: isUnique ? "REINDEX INDEX $object" : validateIndexSql(index),
    }));
  });
  return jobId;
}

/**
 * Returns SQL that makes an index valid if it still exists.
 *
 * The lock keeps out DDL of other sessions, which would fail with "tuple concurrently updated".
 */
export function validateIndexSql(index: string | null | undefined): string {
  return `DO $$ DECLARE t regclass; BEGIN ` +
    `FOR t IN SELECT indrelid FROM pg_index WHERE indexrelid = ${index} LOOP ` +
    `EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE', t); ` +
    `UPDATE pg_index SET indisvalid = true WHERE indexrelid = ${index}; END LOOP; END $$`;
}

/** Records the job that will validate a constraint, which must exist. */
export async function validateConstraintAsync(
  statement: Statement,
  { query, asSuperuser }: DdlConnection,
): Promise<string> {
  const table = relationName(child(statement.node, "relation"));
  const constraint = getText(child(children(statement.node, "cmds")[0], "AlterTableCmd"), "name");
  const [row] = await query(
    `SELECT t.oid::oid, c.relname, n.nspname || '.' || c.relname, k.oid ` +
      `FROM (SELECT ${quoteLiteral(table)}::regclass AS oid) t ` +
      `JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace ` +
      `LEFT JOIN pg_constraint k ON k.conrelid = t.oid AND k.conname = ${quoteLiteral(constraint)}`,
  );
  const [objectId, name, tableName, found] = row;
  if (!found) {
    throw new SqlError("42704", `constraint "${constraint}" of relation "${name}" does not exist`);
  }
  const jobId = createJobId();
  await asSuperuser(() =>
    query(insertJobSql(jobId, {
      type: "VALIDATE_CONSTRAINT",
      objectId: objectId ?? "",
      objectName: tableName ?? "",
      tableName: tableName ?? "",
      work: `ALTER TABLE $object VALIDATE CONSTRAINT ${quoteName(constraint)}`,
    }))
  );
  return jobId;
}

/** Runs a DROP and records its background jobs, as the provider's list of jobs shows them. */
export async function recordDrops<T>(
  statement: Statement,
  { query, asSuperuser }: DdlConnection,
  drop: () => Promise<T>,
): Promise<T> {
  const names = children(statement.node, "objects").map((object) =>
    strings(children(child(object, "List"), "items")).map(quoteName).join(".")
  );
  const objects: (string | null)[][] = [];
  for (const name of names) {
    objects.push(
      ...await query(
        `SELECT c.oid, ${QUALIFIED_NAME} WHERE c.oid = to_regclass(${quoteLiteral(name)})`,
      ),
    );
  }
  const result = await drop();
  await asSuperuser(async () => {
    for (const [objectId, objectName] of objects) {
      const name = objectName ?? "";
      await query(
        insertJobSql(createJobId(), {
          type: "DROP",
          objectId: objectId ?? "",
          objectName: name,
          tableName: name,
        }),
      );
    }
  });
  return result;
}

/** Maps an IAM principal to a database role, or removes the mapping; only `admin` can. */
export async function changeIamMapping(
  { grants, role, arn }: IamStatement,
  user: string,
  { query, asSuperuser }: DdlConnection,
): Promise<void> {
  if (user !== "admin") {
    throw new SqlError("42501", "permission denied to manage IAM role mappings");
  }
  await asSuperuser(async () => {
    const [[exists, mapped]] = await query(
      `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ${quoteLiteral(role)}), ` +
        `EXISTS (SELECT FROM sys.iam_mapping_records WHERE pg_role_name = ${
          quoteLiteral(role)
        } AND arn = ${quoteLiteral(arn)})`,
    );
    if (exists !== "t") throw new SqlError("42704", `role "${role}" does not exist`);
    if (grants && mapped === "t") {
      throw new SqlError("42710", `role "${role}" is already granted to "${arn}"`);
    }
    if (!grants && mapped !== "t") {
      throw new SqlError("42704", `role "${role}" is not granted to "${arn}"`);
    }
    await query(
      grants
        ? `INSERT INTO sys.iam_mapping_records (arn, pg_role_name, grantor_pg_role_name) ` +
          `VALUES (${quoteLiteral(arn)}, ${quoteLiteral(role)}, ${quoteLiteral(user)})`
        : `DELETE FROM sys.iam_mapping_records ` +
          `WHERE pg_role_name = ${quoteLiteral(role)} AND arn = ${quoteLiteral(arn)}`,
    );
  });
}
