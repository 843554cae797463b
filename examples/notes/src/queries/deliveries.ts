import { DatabaseOperation, type Params } from "@trellis/fn/database";
import { defineQuery, defineStatement } from "../database.ts";
import { removeOldDeliveriesJob } from "../jobs.ts";
import { deliveries } from "../schema.ts";

/** Records a delivery. Returns `false` if it was recorded before. */
export const recordDelivery = defineStatement(
  "recordDelivery",
  (db, p: Params<{ source: string; deliveryId: string }>) =>
    db.insert(deliveries).values({ source: p.source, deliveryId: p.deliveryId })
      .onConflictDoNothing().returning(),
  { map: (recorded) => recorded.length > 0 },
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
    const isNew = await recordDelivery.on(tx, { source: "code-host", deliveryId });
    if (isNew) await removeOldDeliveriesJob.enqueue(tx, null);
    return isNew;
  },
);
