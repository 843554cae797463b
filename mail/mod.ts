/**
 * Mails through an outbox: written in the transaction of the request, sent after COMMIT by a worker, through Amazon SES or SMTP.
 *
 * @example
 * ```ts
 * import { configureMail, createSesTransport, defineMail, escapeHtml } from "@trellis/fn/mail";
 * import * as z from "zod";
 *
 * configureMail({ transport: createSesTransport(), from: "Notes <notes@example.com>" });
 *
 * const shared = defineMail({
 *   name: "note-shared",
 *   schema: z.object({ title: z.string(), url: z.url() }),
 *   render: ({ title, url }) => ({
 *     subject: `${title} was shared with you`,
 *     text: `Read it: ${url}`,
 *     html: `<p><a href="${escapeHtml(url)}">${escapeHtml(title)}</a></p>`,
 *   }),
 * });
 * console.log(shared.job.jobName); // mail.note-shared
 * ```
 *
 * @module
 */
export { defineMail, type DefineMailOptions, type Mail, type MailRequest } from "./define_mail.ts";
export {
  defineMailEventHandler,
  type MailEventHandlerFunction,
  type MailEventParams,
} from "./define_mail_event_handler.ts";
export { escapeHtml } from "../core/http/escape_html.ts";
export type { MailEvent, MailEventRecipient, MailEventType } from "./mail_event.ts";
export type { MailOptions, MailPayload } from "./mail_payload.ts";
export { configureMail, type MailConfig } from "./mail_settings.ts";
export {
  createFolderTransport,
  createMemoryTransport,
  type MailContent,
  type MailMessage,
  type MailTransport,
  type MemoryTransport,
} from "./transports.ts";
export { createSesTransport, type SesTransportOptions } from "./ses_transport.ts";
export { createSmtpTransport, type SmtpTransportOptions } from "./smtp_transport.ts";
