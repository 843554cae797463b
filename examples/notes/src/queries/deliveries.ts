import { DatabaseOperation } from "@trellis/fn/database";
import { defineQuery } from "../database.ts";
import { deliveries } from "../schema.ts";

/** Records a delivery. Returns `false` if it was recorded before. */
export const recordDelivery = defineQuery(
  {
    tables: [{
      table: deliveries,
      operations: [DatabaseOperation.Select, DatabaseOperation.Insert],
    }],
  },
  async function recordDelivery(db, source: string, deliveryId: string) {
    const recorded = await db.insert(deliveries).values({ source, deliveryId })
      .onConflictDoNothing().returning();
    return recorded.length > 0;
  },
);
