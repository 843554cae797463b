import { rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { toQueryError } from "../database/queries/query_error.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSql, runSqlRows } from "../database/session/run_sql.ts";
import { quoteName } from "../sql/quote.ts";
import { isOccError } from "../sql/sqlstate.ts";
import { type TransactionClient, withTransaction } from "../database/session/transaction.ts";
import type {
  Attempt,
  BackendTransactions,
  Claim,
  IdempotencyBackend,
  RecordKey,
  RecordTerms,
} from "./backend.ts";
import { IDEMPOTENCY_TABLE } from "./migration.ts";

/** Returns the client of the application's database. */
export type GetDatabase<TSchema extends Record<string, unknown>> = () =>
  | DrizzleClient<TSchema>
  | Promise<DrizzleClient<TSchema>>;

// deno-lint-ignore no-explicit-any -- any schema
type AnyClient = DrizzleClient<any>;

const RECORDS = rawSql(quoteName(IDEMPOTENCY_TABLE));

/** Aurora DSQL stores texts of up to 1 MiB. */
const MAX_RESULT_BYTES = 1_000_000;

/** A record may disappear between the two statements of a claim; then it is claimed again. */
const MAX_CLAIMS = 5;

/**
 * Creates the storage of records in a table of the application's database. All times are those of the database.
 *
 * @param getDb Returns the client.
 */
export function createDatabaseBackend<TSchema extends Record<string, unknown>>(
  getDb: GetDatabase<TSchema>,
): IdempotencyBackend {
  return {
    maxResultBytes: MAX_RESULT_BYTES,
    claim: async (record, terms) => claimRecord(await getDb() as AnyClient, record, terms),
    async complete(attempt, result): Promise<boolean> {
      const db = await getDb() as AnyClient;
      return withQueryMetrics("completeIdempotentRequest", () => complete(db, attempt, result));
    },
    async release({ id, fence }): Promise<void> {
      const db = await getDb() as AnyClient;
      const statement = sql`DELETE FROM ${RECORDS}
        WHERE id = ${id} AND fence = ${fence} AND result IS NULL`;
      await withQueryMetrics("releaseIdempotentRequest", async () => await runSql(db, statement));
    },
  };
}

/**
 * Creates the transactions that store a result together with the rows of the application.
 *
 * @param getDb Returns the client.
 */
export function createTransactions<TSchema extends Record<string, unknown>>(
  getDb: GetDatabase<TSchema>,
): BackendTransactions<TransactionClient<TSchema>> {
  return {
    run: async (work) => runTransaction(await getDb(), work),
    complete: (tx, attempt, result) => complete(tx as AnyClient, attempt, result),
    async find({ id, fence }): Promise<string | undefined> {
      const db = await getDb() as AnyClient;
      const statement = sql`SELECT result FROM ${RECORDS}
        WHERE id = ${id} AND fence = ${fence} AND result IS NOT NULL`;
      const [row] = await withQueryMetrics(
        "findIdempotentRequest",
        () => runSqlRows<{ result: string }>(db, statement),
      );
      return row?.result;
    },
  };
}

async function claimRecord(
  db: AnyClient,
  record: RecordKey,
  terms: RecordTerms,
): Promise<Claim> {
  for (let claims = 1;; claims++) {
    const fence = crypto.randomUUID();
    if (await tryClaim(db, record, terms, fence)) return { state: "claimed", fence };
    const row = await findRecord(db, record);
    if (row?.result !== undefined && row.result !== null) {
      return { state: "done", fingerprint: row.fingerprint, result: row.result };
    }
    if (row !== undefined) return { state: "running", fingerprint: row.fingerprint };
    if (claims === MAX_CLAIMS) return { state: "running", fingerprint: record.fingerprint };
  }
}

/** Inserts the record, or takes over an expired record, or a record whose lease has ended. */
async function tryClaim(
  db: AnyClient,
  { id, fingerprint }: RecordKey,
  { leaseSeconds, ttlSeconds }: RecordTerms,
  fence: string,
): Promise<boolean> {
  const statement = sql`INSERT INTO ${RECORDS} AS r
      (id, fingerprint, fence, lease_expires_at, expires_at)
    VALUES (${id}, ${fingerprint}, ${fence}, ${inSeconds(leaseSeconds)}, ${inSeconds(ttlSeconds)})
    ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, fence = excluded.fence,
      result = NULL, lease_expires_at = excluded.lease_expires_at, expires_at = excluded.expires_at
    WHERE r.expires_at <= now() OR (r.result IS NULL AND r.lease_expires_at <= now())
    RETURNING id`;
  async function insert(): Promise<boolean> {
    try {
      return (await runSqlRows(db, statement)).length > 0;
    } catch (error) {
      // a conflict means that another execution has claimed the record
      if (!isOccError(error)) throw error;
      return false;
    }
  }
  return await withQueryMetrics("claimIdempotentRequest", insert, { retry: false });
}

interface StoredRecord extends Record<string, unknown> {
  readonly fingerprint: string;
  readonly result: string | null;
}

async function findRecord(db: AnyClient, { id }: RecordKey): Promise<StoredRecord | undefined> {
  const statement = sql`SELECT fingerprint, result FROM ${RECORDS} WHERE id = ${id}
    AND expires_at > now() AND (result IS NOT NULL OR lease_expires_at > now())`;
  const [row] = await withQueryMetrics(
    "findIdempotentRequest",
    () => runSqlRows<StoredRecord>(db, statement),
  );
  return row;
}

async function complete(
  db: AnyClient,
  { id, fence, ttlSeconds }: Attempt,
  result: string,
): Promise<boolean> {
  const statement = sql`UPDATE ${RECORDS}
    SET result = ${result}, expires_at = ${inSeconds(ttlSeconds)}
    WHERE id = ${id} AND fence = ${fence} AND result IS NULL RETURNING id`;
  return (await runSqlRows(db, statement)).length > 0;
}

function inSeconds(seconds: number) {
  return sql`now() + ${seconds}::double precision * interval '1 second'`;
}

/** Runs a transaction. Errors of the handler are thrown unchanged, others without SQL and values. */
async function runTransaction<T, TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
  work: (tx: TransactionClient<TSchema>) => Promise<T>,
): Promise<T> {
  let failure: { readonly error: unknown } | undefined;
  async function attempt(tx: TransactionClient<TSchema>): Promise<T> {
    failure = undefined;
    try {
      return await work(tx);
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  try {
    return await withDistSqlRetry(() => withTransaction(db, attempt));
  } catch (error) {
    if (failure !== undefined) throw failure.error;
    throw toQueryError(error, {
      queryName: "idempotentTransaction",
      attempts: 1,
      constraints: undefined,
    });
  }
}
