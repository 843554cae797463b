import { defineJobQueueHandler } from "@trellis/fn/jobs";
import { getDb } from "../../database.ts";
import { mails } from "../../mails.ts";

export const handler = defineJobQueueHandler({ getDb, jobs: mails.jobs });
