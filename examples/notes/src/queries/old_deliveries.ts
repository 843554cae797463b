import { sql } from "@trellis/fn/database/orm";
import { defineStatement } from "../database.ts";
import { deliveries } from "../schema.ts";

/** Removes deliveries that the code host does not repeat any more. */
export const removeOldDeliveries = defineStatement(
  "removeOldDeliveries",
  (db) => db.delete(deliveries).where(sql`${deliveries.receivedAt} < now() - interval '30 days'`),
);
