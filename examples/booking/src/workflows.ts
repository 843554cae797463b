import type { TransactionClient } from "@trellis/fn/database";
import { defineWorkflow } from "@trellis/fn/workflows";
import * as z from "zod";
import { arrivalMail, departureMail } from "./mails.ts";
import { findStay } from "./queries/stays.ts";

const DAY_SECONDS = 86_400;
/** The longest sleep. */
const YEAR_SECONDS = 366 * DAY_SECONDS;

/** Accompanies a confirmed booking: a mail on the day before the arrival, and one on the day after the departure. */
export const stayWorkflow = defineWorkflow({
  name: "stay",
  input: z.object({ bookingId: z.uuid(), arrival: z.iso.date(), departure: z.iso.date() }),
})(async function accompany({ step, sleep, sleepUntil, now, input }) {
  async function waitUntil(day: string, days: number): Promise<void> {
    const timeMs = Date.parse(day) + days * DAY_SECONDS * 1000;
    while (timeMs - now().getTime() > YEAR_SECONDS * 1000) await sleep(YEAR_SECONDS);
    await sleepUntil(timeMs);
  }

  // the mail and the step's result are rows of one transaction: each guest gets it once
  async function send(mail: typeof arrivalMail, tx: TransactionClient): Promise<boolean> {
    const stay = await findStay.on(tx, input.bookingId);
    if (stay?.status !== "confirmed") return false;
    const { email, roomName, arrival, departure } = stay;
    await mail.send(tx, { to: email, data: { roomName, arrival, departure } });
    return true;
  }

  await waitUntil(input.arrival, -1);
  const comes = await step("remind", (tx) => send(arrivalMail, tx));
  if (!comes) return "cancelled";
  await waitUntil(input.departure, 1);
  await step("ask", (tx) => send(departureMail, tx));
  return "stayed";
});
