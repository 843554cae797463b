import { DatabaseOperation } from "@trellis/fn/database";
import { defineQuery } from "../database.ts";
import { removeOldDeliveriesJob } from "../jobs.ts";
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

/**
 * Records a push, and enqueues its job in the same transaction: both happen once, or neither. Returns
 * `false` if the push was recorded before.
 */
export const acceptPush = defineQuery(
  {
    tables: [{
      table: deliveries,
      operations: [DatabaseOperation.Select, DatabaseOperation.Insert],
    }],
    transaction: true,
  },
  async function acceptPush(tx, deliveryId: string) {
    const recorded = await tx.insert(deliveries).values({ source: "code-host", deliveryId })
      .onConflictDoNothing().returning();
    if (recorded.length > 0) await removeOldDeliveriesJob.enqueue(tx, null);
    return recorded.length > 0;
  },
);
