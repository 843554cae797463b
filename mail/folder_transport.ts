import { builtinModule } from "../env/builtin_module.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
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
      const files = builtinModule("node:fs")?.promises;
      if (files === undefined) {
        throw new ConfigurationError(
          "createFolderTransport needs process.getBuiltinModule: use Node 20.16, Deno 2 or later",
        );
      }
      const at = new Date().toISOString();
      const mail = { id, name, from, to, cc, bcc, subject, text, html, at };
      await files.mkdir(folder, { recursive: true });
      const file = `${folder}/${at.replaceAll(":", "-")}_${id}.json`;
      await files.writeFile(file, JSON.stringify(mail, undefined, 2));
    },
  };
}
