import type { MailTransport } from "./mail_message.ts";

/**
 * Creates a transport that writes each mail to a file, `<time>_<id>.json` with `to`, `subject`, `text`, `html` and `at`. No mail is
 * sent. Sending a mail again overwrites nothing.
 *
 * @param folder The folder; it is created.
 * @returns The transport.
 *
 * @example
 * ```ts
 * import { configureMail, createFolderTransport } from "@trellis/fn/mail";
 *
 * configureMail({ transport: createFolderTransport(".trellis/mail"), from: "notes@example.com" })();
 * ```
 */
export function createFolderTransport(folder: string): MailTransport {
  return {
    async send({ id, name, from, to, cc, bcc, subject, text, html }): Promise<void> {
      const { mkdir, writeFile } = await import("node:fs/promises");
      const at = new Date().toISOString();
      const mail = { id, name, from, to, cc, bcc, subject, text, html, at };
      await mkdir(folder, { recursive: true });
      const file = `${folder}/${at.replaceAll(":", "-")}_${id}.json`;
      await writeFile(file, JSON.stringify(mail, undefined, 2));
    },
  };
}
