import { DatabaseOperation } from "@trellis/fn/database";
import { defineQuery } from "../database.ts";
import { webhookEvents } from "../schema.ts";

/** Records an event. Returns `false` if it was recorded before. */
export const recordEvent = defineQuery(
  {
    tables: [{
      table: webhookEvents,
      operations: [DatabaseOperation.Select, DatabaseOperation.Insert],
    }],
  },
  async function recordEvent(db, event: typeof webhookEvents.$inferInsert) {
    const recorded = await db.insert(webhookEvents).values(event)
      .onConflictDoNothing().returning({ id: webhookEvents.id });
    return recorded.length === 1;
  },
);
