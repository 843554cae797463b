import { defineJobQueueHandler } from "@trellis/fn/jobs";
import { getDb } from "../../database.ts";
import { arrivalMail, bookingConfirmedMail, departureMail } from "../../mails.ts";
import { stayWorkflow } from "../../workflows.ts";

export const handler = defineJobQueueHandler({
  getDb,
  jobs: [bookingConfirmedMail.job, arrivalMail.job, departureMail.job, stayWorkflow.job],
});
