import type { PGlite, Transaction } from "@electric-sql/pglite";
import { redactText } from "../../../observability/redact_text.ts";

/** A statement that a call sent to the local database: one round trip. */
export interface RecordedStatement {
  /** The text with placeholders, without values. */
  readonly text: string;
  readonly durationMs: number;
  /** Number of rows read or changed; omitted if the statement failed. */
  readonly rowCount?: number;
  /** True if it failed. */
  readonly isFailed?: boolean;
}

type Query = (text: string, ...rest: unknown[]) => Promise<{
  readonly rows: readonly unknown[];
  readonly affectedRows?: number;
}>;

/**
 * Reports each statement of an embedded database, with the ends of transactions.
 *
 * @param database The database, whose methods are replaced.
 * @param keep Called in the asynchronous context of the caller of the statement.
 */
export function recordStatements(
  database: PGlite,
  keep: (statement: RecordedStatement) => void,
): void {
  function observe(query: Query): Query {
    return async function observedQuery(text, ...rest) {
      const startedAt = performance.now();
      const end = (outcome: Partial<RecordedStatement>) =>
        keep({ text: redactText(text), durationMs: performance.now() - startedAt, ...outcome });
      try {
        const result = await query(text, ...rest);
        end({ rowCount: Math.max(result.rows.length, result.affectedRows ?? 0) });
        return result;
      } catch (error) {
        end({ isFailed: true });
        throw error;
      }
    };
  }

  const transaction = database.transaction.bind(database);
  const observed = {
    query: observe(database.query.bind(database) as Query),
    async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
      let ending = "ROLLBACK";
      try {
        const result = await transaction(async function run(tx) {
          keep({ text: "BEGIN", durationMs: 0 });
          const value = await work(
            Object.assign(tx, { query: observe(tx.query.bind(tx) as Query) }),
          );
          ending = "COMMIT";
          return value;
        });
        return result;
      } finally {
        keep({ text: ending, durationMs: 0 });
      }
    },
  };
  Object.assign(database, observed);
}
