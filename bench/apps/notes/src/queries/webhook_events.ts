import type { Params } from "@trellis/fn/database";
import { defineStatement } from "../database.ts";
import { webhookEvents } from "../schema.ts";

/** Records an event. Returns `false` if it was recorded before. */
export const recordEvent = defineStatement(
  "recordEvent",
  (db, p: Params<{ id: string; type: string; payload: Record<string, unknown> }>) =>
    db.insert(webhookEvents).values({ id: p.id, type: p.type, payload: p.payload })
      .onConflictDoNothing().returning({ id: webhookEvents.id }),
  { map: (recorded) => recorded.length === 1 },
);
