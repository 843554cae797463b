import { ValidationError } from "../../errors/http_errors.ts";
import { findLinks } from "../../testing/find_links.ts";
import type { Recorder, SentMail } from "./functions/recorder.ts";

/** The mails that functions sent to the local server. */
export interface Mailbox {
  /** The last mails, newest first. */
  readonly mails: readonly SentMail[];
  /** Accepts a mail: JSON with `to`, `subject`, `text` and `html`. */
  take(body: string): SentMail;
}

/** The path that functions send mails to. */
export const MAIL_PATH = "/_trellis/mail";

const MAX_MAILS = 200;

/**
 * Creates the mailbox of the local server. No mail leaves the machine.
 *
 * @param recorder Notified of each mail.
 */
export function createMailbox(recorder: Recorder): Mailbox {
  const mails: SentMail[] = [];
  return {
    mails,
    take(body): SentMail {
      const mail = parseMail(body);
      mails.unshift(mail);
      mails.length = Math.min(mails.length, MAX_MAILS);
      recorder.emit({ type: "mail", mail });
      return mail;
    },
  };
}

function parseMail(body: string): SentMail {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw new ValidationError("A mail must be a JSON object", { cause });
  }
  const { to, subject, text, html } = Object(value) as Readonly<Record<string, unknown>>;
  const addresses = Array.isArray(to) ? to.join(", ") : to;
  if (typeof addresses !== "string" || addresses === "") {
    throw new ValidationError("A mail needs the address to");
  }
  if (typeof subject !== "string") throw new ValidationError("A mail needs a subject");
  const parts = [text, html].filter((part): part is string => typeof part === "string");
  if (parts.length === 0) throw new ValidationError("A mail needs text or html");
  return {
    id: crypto.randomUUID(),
    to: addresses,
    subject,
    text: typeof text === "string" ? text : "",
    ...typeof html === "string" && { html },
    at: new Date().toISOString(),
    links: findLinks(parts),
  };
}
