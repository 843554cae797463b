import { loadOnce } from "../core/async/single_flight.ts";
import { parseUrl } from "../core/http/parse_url.ts";
import { isStandIn } from "../env/recording.ts";
import {
  checkOption,
  checkOptions,
  FUNCTION_OPTION,
  type OptionRule,
} from "../core/option_rules.ts";
import { limitRequest } from "../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { logError } from "../observability/logger.ts";
import { PermanentJobError } from "../jobs/job_errors.ts";
import { parseAddress } from "./address.ts";
import type { MailMessage, MailTransport } from "./transports.ts";

/** Options of {@link createSmtpTransport}. */
export interface SmtpTransportOptions {
  /**
   * Address of the server: `smtps://user:password@smtp.example.com`, or `smtp://` with STARTTLS; or a function that returns it when
   * the first mail is sent. The password is percent-encoded.
   */
  url: string | (() => string);
}

const URL_OPTION: OptionRule = [
  (value) => typeof value === "string" || FUNCTION_OPTION[0](value),
  "an address such as smtps://user:password@smtp.example.com, or a function that returns one",
];

/** For connection, greeting, and each silence. */
const TIMEOUT_MS = 10_000;
const LIMIT_MS = 20_000;

/** Result of nodemailer: it resolves if the server accepted at least one recipient. */
interface SentMail {
  readonly rejected?: readonly unknown[];
}

/** The part of nodemailer that is used. */
interface Nodemailer {
  createTransport(options: object): { sendMail(mail: object): Promise<SentMail> };
}

/**
 * Creates a transport through an SMTP server. Install `nodemailer`. TLS is required unless the server is on this machine. `Message-ID`
 * is the same in each attempt to send a mail.
 *
 * @param options The server.
 * @returns The transport.
 * @throws {ConfigurationError} If an option is invalid.
 *
 * @example
 * ```ts
 * import { getRequiredEnv } from "@trellis/fn/env";
 * import { configureMail, createSmtpTransport } from "@trellis/fn/mail";
 *
 * const transport = createSmtpTransport({ url: () => getRequiredEnv("SMTP_URL") });
 * configureMail({ transport, from: "notes@example.com" })();
 * ```
 */
export function createSmtpTransport(options: SmtpTransportOptions): MailTransport {
  checkOptions("createSmtpTransport", options, { url: URL_OPTION });
  const { url } = options;
  // the value is not shown: it has a password
  checkOption("url", typeof url, [(type) => type !== "undefined", URL_OPTION[1]]);
  if (typeof url === "string" && !isStandIn(url)) parseServer(url);
  const getServer = loadOnce(async () => await connect(typeof url === "function" ? url() : url));
  return {
    async send(message, outer): Promise<void> {
      const server = await getServer();
      try {
        const { rejected = [] } = await limitRequest(
          { service: "The mail server", limitMs: LIMIT_MS, signal: outer },
          (signal) => server.sendMail({ ...toNodemailer(message), signal }),
        );
        if (rejected.length > 0) reportRejected(message, rejected.length);
      } catch (error) {
        const { code, responseCode = 0 } = error as { code?: string; responseCode?: number };
        const isPermanent = responseCode >= 500 && (code === "EENVELOPE" || code === "EMESSAGE");
        if (!isPermanent) throw error;
        throw new PermanentJobError(`The server refused the mail with ${responseCode}`, {
          cause: error,
        });
      }
    },
  };
}

async function connect(url: string): Promise<ReturnType<Nodemailer["createTransport"]>> {
  const server = parseServer(url);
  const { default: nodemailer } = await import("nodemailer").catch(
    explainMissing(RUNTIME_PACKAGES, "nodemailer", "createSmtpTransport"),
  ) as { default: Nodemailer };
  return nodemailer.createTransport({
    ...server,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // a mail may name neither files nor addresses to read
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Sending the mail again would repeat it for the others. */
function reportRejected({ id, name }: MailMessage, rejected: number): void {
  logError("the server refused some recipients of a mail, the others have it", {
    mail: name,
    mail_id: id,
    rejected,
  });
}

const PORTS = { "smtps:": 465, "smtp:": 587 } as const;

function parseServer(text: string): object {
  const url = parseUrl(text);
  if (url === undefined || !Object.hasOwn(PORTS, url.protocol) || url.hostname === "") {
    throw new ConfigurationError(`url must be ${URL_OPTION[1]}`);
  }
  const { protocol, hostname, port, username, password } = url;
  const isLocal = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
  return {
    host: hostname,
    port: Number(port) || PORTS[protocol as keyof typeof PORTS],
    secure: protocol === "smtps:",
    requireTLS: protocol === "smtp:" && !isLocal,
    ...(username !== "" && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
  };
}

function toNodemailer(message: MailMessage): object {
  const { id, from, to, cc, bcc, replyTo, subject, text, html, headers } = message;
  const domain = parseAddress(from)!.address.split("@").pop();
  return {
    messageId: `<${id}@${domain}>`,
    from,
    to: [...to],
    cc: [...cc],
    bcc: [...bcc],
    replyTo: [...replyTo],
    subject,
    text,
    html,
    headers,
  };
}
