import { createAccountMails } from "@trellis/fn/auth";
import { getOptionalEnv } from "@trellis/fn/env";
import { configureJobs, createSqsDelivery } from "@trellis/fn/jobs";
import { configureMail, createSesTransport } from "@trellis/fn/mail";
import { getDb } from "./database.ts";
import { webOrigin } from "./web_origin.ts";

// trellis dev shows the mails on its page, and sends none
configureMail({
  transport: createSesTransport(),
  from: () => getOptionalEnv("MAIL_FROM", "Accounts <accounts@example.com>"),
});

// jobs run right after COMMIT, in functions/queue/mail.ts
configureJobs({ delivery: createSqsDelivery() });

export const mails = createAccountMails({
  getDb,
  appName: "Accounts",
  invitationUrl: (id) => `${webOrigin}/?invitation=${id}`,
  templates: {
    oneTimeCode: ({ code, appName }) => ({
      subject: `Your code for ${appName}`,
      text: `Your code is ${code}`,
    }),
  },
});
