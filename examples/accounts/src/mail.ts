import { getRequiredEnv } from "@trellis/fn/env";

/** A mail with one link or code. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/**
 * Sends a mail to the local page of `trellis dev`, which sets `TRELLIS_MAIL_URL`. Replace the body
 * by a call of your mail service before you deploy.
 */
export async function sendMail(mail: Mail): Promise<void> {
  const response = await fetch(getRequiredEnv("TRELLIS_MAIL_URL"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(mail),
  });
  if (!response.ok) throw new Error(`The mail was refused with status ${response.status}`);
}
