import { toBackendSql } from "./backend_sql.ts";
import { createJobId, insertJobSql, type Query } from "./jobs.ts";
import { SqlError } from "./sql_error.ts";
import { type Answer, createJobAnswer, relay, tagged } from "./statement_answer.ts";
import type { IamStatement, Statement } from "./syntax/statements.ts";
import {
  child,
  children,
  getText,
  relationName,
  strings,
  type SyntaxNode,
} from "./syntax/syntax_tree.ts";
import type { WireMessage } from "./wire.ts";
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
async function createIndexAsync(
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
async function validateConstraintAsync(
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
async function recordDrops<T>(
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
async function changeIamMapping(
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

function getActions(statement: Statement, subtype: string): SyntaxNode[] {
  return children(statement.node, "cmds").map((command) => child(command, "AlterTableCmd"))
    .filter((action) => getText(action, "subtype") === subtype);
}

function getNames(statement: Statement, subtype: string): string[] {
  return getActions(statement, subtype).map((action) => getText(action, "name"));
}

/**
 * Rejects an ALTER TABLE by the state of the table: dropping its primary key or one of its columns,
 * and an identity for a column that is not bigint (EMU 2026-09-18, AT; the text for a constraint is
 * inferred).
 */
async function checkAgainstCatalog(statement: Statement, query: Query): Promise<void> {
  if (statement.type !== "AlterTableStmt") return;
  const columns = getNames(statement, "AT_DropColumn");
  const constraints = getNames(statement, "AT_DropConstraint");
  const identities = getNames(statement, "AT_AddIdentity");
  if (columns.length + constraints.length + identities.length === 0) return;
  const table = `to_regclass(${quoteLiteral(relationName(child(statement.node, "relation")))})`;
  const keys = await query(
    `SELECT a.attname, c.conname FROM pg_constraint c JOIN ` +
      `pg_attribute a ON a.attrelid = c.conrelid ` +
      `AND a.attnum = ANY (c.conkey) WHERE c.contype = 'p' AND c.conrelid = ${table}`,
  );
  for (const [column, constraint] of keys) {
    if (columns.includes(column ?? "")) refuse(`cannot drop primary key column ${column}`);
    if (constraints.includes(constraint ?? "")) {
      refuse("unsupported ALTER TABLE DROP CONSTRAINT statement");
    }
  }
  for (const column of identities) {
    const [[type] = []] = await query(
      `SELECT format_type(atttypid, NULL) FROM pg_attribute ` +
        `WHERE attrelid = ${table} AND attname = ${quoteLiteral(column)}`,
    );
    if (type && type !== "bigint") {
      refuse(`datatype ${type} not supported, identity column type must be bigint`);
    }
  }
}

function refuse(message: string): never {
  throw new SqlError("0A000", message);
}

/** Parts of a session that a DDL statement uses. */
export interface DdlParts {
  readonly connection: DdlConnection;
  readonly user: string;
  /** Runs the statement on the database. */
  readonly run: () => Promise<WireMessage[]>;
  /** Called with the id of a job to start after COMMIT. */
  readonly onJob: (jobId: string) => void;
}

/** Runs a statement that changes the schema, as the provider runs it. */
export async function runDdlStatement(statement: Statement, parts: DdlParts): Promise<Answer> {
  const { connection, user, run } = parts;
  if (statement.iam) {
    await changeIamMapping(statement.iam, user, connection);
    return tagged(statement.iam.grants ? "GRANT" : "REVOKE");
  }
  if (statement.type === "IndexStmt") {
    const jobId = await createIndexAsync(statement, toBackendSql(statement), connection);
    return startJob("CREATE INDEX", jobId, parts);
  }
  if (statement.isAsync) {
    return startJob("ALTER TABLE", await validateConstraintAsync(statement, connection), parts);
  }
  await checkAgainstCatalog(statement, connection.query);
  const isDrop = statement.type === "DropStmt" &&
    ["OBJECT_TABLE", "OBJECT_INDEX"].includes(getText(statement.node, "removeType"));
  return relay(isDrop ? await recordDrops(statement, connection, run) : await run());
}

function startJob(tag: string, jobId: string | undefined, { onJob }: DdlParts): Answer {
  if (jobId !== undefined) onJob(jobId);
  return createJobAnswer(tag, jobId);
}
