import { getOptionalEnv } from "@trellis/fn/env";
import { configureJobs, createSqsDelivery } from "@trellis/fn/jobs";
import { configureMail, createSesTransport, defineMail } from "@trellis/fn/mail";
import * as z from "zod";

// trellis dev shows the mails on its page, and sends none
configureMail({
  transport: createSesTransport(),
  from: () => getOptionalEnv("MAIL_FROM", "Booking <booking@example.com>"),
});

// mails are sent right after COMMIT, by functions/queue/mail.ts
configureJobs({ delivery: createSqsDelivery() });

const Stay = z.object({ roomName: z.string(), arrival: z.string(), departure: z.string() });

export const bookingConfirmedMail = defineMail({
  name: "booking-confirmed",
  schema: Stay,
  render: ({ roomName, arrival, departure }) => ({
    subject: `Your booking of ${roomName} is confirmed`,
    text: `We expect you in ${roomName} from ${arrival} to ${departure}.`,
  }),
});

export const arrivalMail = defineMail({
  name: "arrival",
  schema: Stay,
  render: ({ roomName, arrival }) => ({
    subject: `${roomName} is ready for you tomorrow`,
    text: `Your room is ready from 3 p.m. on ${arrival}.`,
  }),
});

export const departureMail = defineMail({
  name: "departure",
  schema: Stay,
  render: ({ roomName }) => ({
    subject: `How was your stay in ${roomName}?`,
    text: "An answer to this mail reaches us.",
  }),
});
