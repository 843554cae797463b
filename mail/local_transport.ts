import { limitRequest } from "../env/limit_request.ts";
import { UnexpectedError } from "../errors/http_errors.ts";
import { createFolderTransport } from "./folder_transport.ts";
import type { MailTransport } from "./mail_message.ts";

const LIMIT_MS = 5000;

/**
 * Creates the transport of `trellis dev`: it hands mails to the local page, and writes them to `.trellis/mail`.
 *
 * @param url Address of the mailbox.
 */
export function createLocalTransport(url: string): MailTransport {
  const folder = createFolderTransport(".trellis/mail");
  return {
    async send(message, outer): Promise<void> {
      await folder.send(message, outer);
      const { to, subject, text, html } = message;
      const response = await limitRequest(
        { service: "The local mailbox", limitMs: LIMIT_MS, signal: outer },
        (signal) =>
          fetch(url, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ to, subject, text, html }),
            signal,
          }),
      );
      await response.body?.cancel();
      if (!response.ok) throw new UnexpectedError(`The local mailbox answered ${response.status}`);
    },
  };
}
