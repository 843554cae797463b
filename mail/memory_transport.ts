import type { MailMessage, MailTransport } from "./mail_message.ts";

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
