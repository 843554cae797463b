import {
  changeIamMapping,
  createIndexAsync,
  type DdlConnection,
  recordDrops,
  validateConstraintAsync,
} from "./async_ddl.ts";
import { toBackendSql } from "./backend_sql.ts";
import { checkAgainstCatalog } from "./catalog_checks.ts";
import { type Answer, createJobAnswer, relay, tagged } from "./statement_answer.ts";
import type { Statement } from "./statements.ts";
import { getText } from "./syntax_tree.ts";
import type { WireMessage } from "./wire.ts";

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
