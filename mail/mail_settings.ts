import { checkOptions, FUNCTION_OPTION, type OptionRule } from "../core/option_rules.ts";
import { getTestServices } from "../core/test_services.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { limitRequest } from "../env/limit_request.ts";
import { ConfigurationError, UnexpectedError } from "../errors/http_errors.ts";
import { formatAddress, parseAddress } from "./address.ts";
import { createFolderTransport, type MailTransport } from "./transports.ts";
import { record } from "../env/recording.ts";

/** Settings of all mails of a process. */
export interface MailConfig {
  /** Sends the mails: `createSesTransport`, `createSmtpTransport`, or your own. */
  transport: MailTransport;
  /** Sender: an address or `Name <address>`; or a function that returns it when the first mail is sent. */
  from: string | (() => string);
}

const TRANSPORT: OptionRule = [
  (value) => typeof (value as MailTransport | null)?.send === "function",
  "a transport such as createSesTransport()",
];
const FROM: OptionRule = [
  (value) =>
    FUNCTION_OPTION[0](value) || (typeof value === "string" && parseAddress(value) !== undefined),
  "an address such as Notes <notes@example.com>, or a function that returns one",
];

/** The variable with the address of the mailbox of `trellis dev`. */
const LOCAL_MAILBOX = "TRELLIS_MAIL_URL";

let current: MailConfig | undefined;

/**
 * Sets how the mails of this process are sent. Call it when the module is loaded that declares the mails, so that the worker loads
 * it, too. In `trellis dev` no mail leaves the machine: mails are written to `.trellis/mail` and shown on the local page.
 *
 * @param config Transport and sender.
 * @returns Restores the previous settings, for tests.
 * @throws {ConfigurationError} If an option is invalid.
 *
 * @example
 * ```ts
 * import { configureMail, createSesTransport } from "@trellis/fn/mail";
 *
 * const restore = configureMail({ transport: createSesTransport(), from: "Notes <notes@example.com>" });
 * restore();
 * ```
 */
export function configureMail(config: MailConfig): () => void {
  record("configureMail", [config], undefined);
  checkOptions("configureMail", config, { transport: TRANSPORT, from: FROM });
  const { transport, from } = config;
  if (transport === undefined || from === undefined) {
    throw new ConfigurationError("configureMail needs a transport and from");
  }
  const previous = current;
  current = config;
  return function restoreMail(): void {
    current = previous;
  };
}

/**
 * Returns the transport and the sender.
 *
 * @throws {ConfigurationError} If nothing is configured or the sender is invalid.
 */
export function getMailConfig(): { readonly transport: MailTransport; readonly from: string } {
  if (current === undefined) {
    throw new ConfigurationError(
      "No mail transport is configured: call configureMail({ transport, from }) in the module that declares the mails",
    );
  }
  const { transport, from } = current;
  const sender = typeof from === "function" ? from() : from;
  const address = parseAddress(sender);
  if (address === undefined) {
    throw new ConfigurationError(`from is ${JSON.stringify(sender)}: it must be a mail address`);
  }
  return { transport: findLocalTransport() ?? transport, from: formatAddress(address) };
}

/** Returns the transport of a test or of `trellis dev`, where no mail leaves the machine. */
function findLocalTransport(): MailTransport | undefined {
  const test = getTestServices();
  if (test !== undefined) return { send: (message) => Promise.resolve(test.sendMail(message)) };
  const mailbox = getOptionalEnv(LOCAL_MAILBOX);
  return mailbox === undefined ? undefined : createLocalTransport(mailbox);
}

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
