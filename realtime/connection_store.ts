import { wholeNumber } from "../core/function_options.ts";
import { splitEvery } from "../core/lists/group_by.ts";
import { checkOption, checkOptions, type OptionRule } from "../core/option_rules.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { quoteName } from "../sql/quote.ts";
import { SUBSCRIPTION_TABLE, TICKET_PREFIX } from "./migration.ts";

/** Options of {@link createConnectionStore}. */
export interface ConnectionStoreOptions {
  /**
   * Seconds after which a subscription is forgotten, 60 to 604,800. API Gateway closes a connection
   * after two hours.
   * @default 7200
   */
  maxAgeSeconds?: number;
}

/** The connections of a WebSocket API and their topics, in the application's database. */
export interface ConnectionStore {
  /** Subscribes a connection to topics. A repeated subscription is renewed. */
  subscribe(connectionId: string, ...topics: string[]): Promise<void>;
  /** Removes a connection from topics. */
  unsubscribe(connectionId: string, ...topics: string[]): Promise<void>;
  /** Removes connections from all topics: after a disconnect, or when they are gone. */
  remove(...connectionIds: string[]): Promise<void>;
  /**
   * Returns connections of a topic, in order.
   *
   * @param topic The topic.
   * @param page `after` is the last connection of the page before.
   */
  list(topic: string, page: { limit: number; after?: string }): Promise<string[]>;
  /**
   * Returns topics of a connection that begin with a prefix, up to 1,000 in order. With a topic such as `user:<id>` from
   * `$connect`, `findTopics(connectionId, "user:")` says whose message it is.
   */
  findTopics(connectionId: string, prefix?: string): Promise<string[]>;
  /** Deletes expired subscriptions and tickets, up to 1,000 with each call. Returns their number. */
  removeExpired(): Promise<number>;
}

const NAME: OptionRule = [
  (value) =>
    typeof value === "string" && value.length >= 1 && value.length <= 200 &&
    !value.startsWith(TICKET_PREFIX),
  `a text of 1 to 200 characters that does not begin with ${TICKET_PREFIX}`,
];

/** Rows of a statement; Aurora DSQL changes up to 3,000 in one transaction. */
const BATCH_ROWS = 1000;

const TABLE = rawSql(quoteName(SUBSCRIPTION_TABLE));

/**
 * Creates the store of WebSocket connections. Its table is created by `SUBSCRIPTION_MIGRATION_SQL`, on
 * PostgreSQL and Aurora DSQL. A connection has no other record: subscribe it to a topic such as
 * `user:<id>` to reach one user.
 *
 * @param getDb Returns the client.
 * @param options Life time of subscriptions.
 * @returns The store.
 * @throws {ConfigurationError} If an option is unknown or out of range.
 *
 * @example
 * ```ts
 * import { defineWebSocketHandler } from "@trellis/fn/triggers";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { createConnectionStore } from "@trellis/fn/realtime";
 *
 * const connections = createConnectionStore(() => getDrizzleClient({ provider: "embedded-pg" }));
 *
 * // src/functions/websocket/$connect.ts; subscribe in a message's handler for topics of the client's choice
 * export const connect = defineWebSocketHandler({ auth: "session" })(async (params) => {
 *   if (params.eventType === "CONNECT") await connections.subscribe(params.connectionId, `user:${params.userId}`);
 * });
 *
 * // src/functions/websocket/$disconnect.ts
 * export const disconnect = defineWebSocketHandler()(({ connectionId }) => connections.remove(connectionId));
 * ```
 */
export function createConnectionStore<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  getDb: () => DrizzleClient<TSchema> | Promise<DrizzleClient<TSchema>>,
  options: ConnectionStoreOptions = {},
): ConnectionStore {
  checkOptions("createConnectionStore", options, {
    maxAgeSeconds: wholeNumber([60, 604_800, "seconds"]),
  });
  const { maxAgeSeconds = 7200 } = options;

  /** Deletes up to {@link BATCH_ROWS} rows that fulfil a condition, and returns their number. */
  async function deleteBatch(name: string, condition: PlainSql): Promise<number> {
    const rows = await run(
      name,
      sql`DELETE FROM ${TABLE} WHERE ${condition} AND (topic, connection_id) IN
        (SELECT topic, connection_id FROM ${TABLE} WHERE ${condition} LIMIT ${BATCH_ROWS})
        RETURNING topic`,
    );
    return rows.length;
  }

  async function run(name: string, statement: PlainSql) {
    const db = await getDb() as DrizzleClient;
    return await withQueryMetrics(name, () => runSqlRows(db, statement));
  }

  return {
    async subscribe(connectionId, ...topics): Promise<void> {
      checkNames(topics, connectionId);
      for (const batch of splitEvery([...new Set(topics)], BATCH_ROWS)) {
        const rows = batch.map((topic) =>
          sql`(${topic}, ${connectionId}, now() + make_interval(secs => ${maxAgeSeconds}::int))`
        );
        await run(
          "subscribeConnection",
          sql`INSERT INTO ${TABLE} (topic, connection_id, expires_at) VALUES ${joinSql(rows, ", ")}
            ON CONFLICT (topic, connection_id) DO UPDATE SET expires_at = excluded.expires_at
            RETURNING topic`,
        );
      }
    },

    async unsubscribe(connectionId, ...topics): Promise<void> {
      checkNames(topics, connectionId);
      for (const batch of splitEvery(topics, BATCH_ROWS)) {
        await run(
          "unsubscribeConnection",
          sql`DELETE FROM ${TABLE} WHERE connection_id = ${connectionId}
            AND topic IN (${join(batch)}) RETURNING topic`,
        );
      }
    },

    async remove(...connectionIds): Promise<void> {
      checkNames(connectionIds);
      for (const batch of splitEvery(connectionIds, BATCH_ROWS)) {
        const condition = sql`connection_id IN (${join(batch)})`;
        // connections have any number of topics
        while (await deleteBatch("removeConnections", condition) === BATCH_ROWS);
      }
    },

    async list(topic, { limit, after = "" }): Promise<string[]> {
      checkNames([topic]);
      const rows = await run(
        "listConnections",
        sql`SELECT connection_id FROM ${TABLE} WHERE topic = ${topic}
          AND connection_id > ${after} AND expires_at > now()
          ORDER BY connection_id LIMIT ${limit}`,
      );
      return rows.map(({ connection_id }) => String(connection_id));
    },

    async findTopics(connectionId, prefix = ""): Promise<string[]> {
      checkNames([connectionId]);
      const rows = await run(
        "findConnectionTopics",
        sql`SELECT topic FROM ${TABLE} WHERE connection_id = ${connectionId}
          AND left(topic, char_length(${prefix}::text)) = ${prefix}
          AND left(topic, char_length(${TICKET_PREFIX}::text)) <> ${TICKET_PREFIX}
          AND expires_at > now() ORDER BY topic LIMIT ${BATCH_ROWS}`,
      );
      return rows.map(({ topic }) => String(topic));
    },

    removeExpired: () => deleteBatch("removeExpiredConnections", sql`expires_at <= now()`),
  };
}

function join(values: readonly string[]): PlainSql {
  return joinSql(values.map((value) => sql`${value}`), ", ");
}

function checkNames(names: readonly string[], connectionId?: string): void {
  for (const name of names) checkOption("a topic or connection", name, NAME);
  if (connectionId !== undefined) checkOption("connectionId", connectionId, NAME);
}
