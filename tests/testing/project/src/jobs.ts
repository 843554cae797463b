import * as z from "zod";
import { configureJobs, createSqsDelivery, defineJob } from "../../../../jobs/mod.ts";
import { configureMail, createSesTransport, defineMail } from "../../../../mail/mod.ts";
import { getDb } from "./database.ts";

configureJobs({ delivery: createSqsDelivery() });
configureMail({ transport: createSesTransport(), from: "Reminders <reminders@example.com>" });

const reminder = defineMail({
  name: "reminder",
  schema: z.object({ text: z.string() }),
  render: ({ text }) => ({ subject: "A reminder", text: `${text}: https://example.com/r?x=1.` }),
});

/** Enqueues the job that sends a mail. */
export const remind = defineJob({
  name: "remind",
  schema: z.object({ text: z.string(), to: z.string() }),
})(async function remind({ payload: { text, to } }) {
  await reminder.send(await getDb(), { to, data: { text } });
});

export const jobs = [remind, reminder.job];
