import { defineJobQueueHandler } from "@trellis/fn/jobs";
import { getDb } from "../../database.ts";
import { bookingConfirmedMail } from "../../mails.ts";

export const handler = defineJobQueueHandler({ getDb, jobs: [bookingConfirmedMail.job] });
