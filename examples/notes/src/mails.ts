import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import {
  configureMail,
  createFolderTransport,
  createSmtpTransport,
  defineMail,
  escapeHtml,
} from "@trellis/fn/mail";
import * as z from "zod";

const folder = getOptionalEnv("MAIL_FOLDER");

configureMail({
  transport: folder
    ? createFolderTransport(folder)
    : createSmtpTransport({ url: () => getRequiredEnv("SMTP_URL") }),
  from: "Notes <notes@example.com>",
});

/** Welcomes a new user. */
export const welcomeMail = defineMail({
  name: "welcome",
  schema: z.object({ name: z.string() }),
  render: ({ name }) => ({
    subject: `Welcome, ${name}`,
    text: `Hello ${name}, your notes are waiting for you.`,
    html: `<p>Hello ${escapeHtml(name)}, your notes are waiting for you.</p>`,
  }),
});
