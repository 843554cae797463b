import { defineJob } from "@trellis/fn/jobs";
import * as z from "zod";
import { removeOldDeliveries } from "./queries/old_deliveries.ts";

/** Removes old deliveries. Its work and its end are one transaction. */
export const removeOldDeliveriesJob = defineJob({
  name: "remove-old-deliveries",
  schema: z.null(),
  transaction: true,
})(async function removeOld({ tx }) {
  await removeOldDeliveries.on(tx);
});
