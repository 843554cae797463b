import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb } from "../../database.ts";
import { removeOldDeliveriesJob } from "../../jobs.ts";
import { welcomeMail } from "../../mails.ts";

/** Each minute: runs due jobs and sends the mails of the outbox. */
export const handler = defineJobRelayHandler({
  getDb,
  jobs: [removeOldDeliveriesJob, welcomeMail.job],
});
