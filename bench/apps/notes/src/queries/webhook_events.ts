import { DatabaseOperation } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import { definePreparedQuery } from "../database.ts";
import { webhookEvents } from "../schema.ts";

const NEW_EVENT = {
  id: sql.placeholder("id"),
  type: sql.placeholder("type"),
  payload: sql.placeholder("payload"),
};

/** Records an event. Returns `false` if it was recorded before. */
export const recordEvent = definePreparedQuery(
  {
    tables: [{
      table: webhookEvents,
      operations: [DatabaseOperation.Select, DatabaseOperation.Insert],
    }],
  },
  async function recordEvent(db, event: typeof webhookEvents.$inferInsert) {
    const recorded = await db.insert(webhookEvents).values(NEW_EVENT)
      .onConflictDoNothing().returning({ id: webhookEvents.id })
      .prepare("record_event").execute(event);
    return recorded.length === 1;
  },
);
