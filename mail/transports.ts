import { builtinModule } from "../env/builtin_module.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

/** Content of a mail. */
export interface MailContent {
  /** Subject. Line breaks and other control characters become spaces. */
  subject: string;
  /** Body as plain text. */
  text: string;
  /** Body as HTML. */
  html?: string;
}

/** Rendered mail, as a transport sends it. All parts are checked. */
export interface MailMessage extends MailContent {
  /** Id of the mail, the same in each attempt to send it. */
  readonly id: string;
  /** Name of the mail, from its declaration. */
  readonly name: string;
  /** Sender: an address, or `Name <address>`. */
  readonly from: string;
  /** Recipients. */
  readonly to: readonly string[];
  /** Recipients of a copy. */
  readonly cc: readonly string[];
  /** Recipients of a copy that the others do not see. */
  readonly bcc: readonly string[];
  /** Addresses of replies. */
  readonly replyTo: readonly string[];
  /** Further headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends mails. */
export interface MailTransport {
  /**
   * Sends a mail. A rejection is tried again, unless it is a `PermanentJobError`.
   *
   * @param message The mail.
   * @param signal Aborted when the time of the attempt is up.
   */
  send(message: MailMessage, signal: AbortSignal): Promise<void>;
}

/** Transport that keeps mails in memory. */
export interface MemoryTransport extends MailTransport {
  /** The mails so far, oldest first. */
  readonly mails: MailMessage[];
}

/**
 * Creates a transport for tests, which keeps the mails instead of sending them.
 *
 * @returns The transport with its mails.
 *
 * @example
 * ```ts
 * import { createMemoryTransport } from "@trellis/fn/mail";
 *
 * console.log(createMemoryTransport().mails.length); // 0
 * ```
 */
export function createMemoryTransport(): MemoryTransport {
  const mails: MailMessage[] = [];
  return {
    mails,
    send(message): Promise<void> {
      mails.push(message);
      return Promise.resolve();
    },
  };
}

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
