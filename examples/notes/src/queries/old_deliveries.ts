import { DatabaseOperation } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import { defineQuery } from "../database.ts";
import { deliveries } from "../schema.ts";

/** Removes deliveries that the code host does not repeat any more. */
export const removeOldDeliveries = defineQuery(
  {
    tables: [{
      table: deliveries,
      operations: [DatabaseOperation.Select, DatabaseOperation.Delete],
    }],
  },
  async function removeOldDeliveries(db) {
    await db.delete(deliveries).where(sql`${deliveries.receivedAt} < now() - interval '30 days'`);
  },
);
