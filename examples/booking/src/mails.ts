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

export const bookingConfirmedMail = defineMail({
  name: "booking-confirmed",
  schema: z.object({ roomName: z.string(), arrival: z.string(), departure: z.string() }),
  render: ({ roomName, arrival, departure }) => ({
    subject: `Your booking of ${roomName} is confirmed`,
    text: `We expect you in ${roomName} from ${arrival} to ${departure}.`,
  }),
});
