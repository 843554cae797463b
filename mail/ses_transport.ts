import type * as Ses from "@aws-sdk/client-sesv2";
import { loadOnce } from "../core/async/single_flight.ts";
import { checkOptions, type OptionRule } from "../core/option_rules.ts";
import { limitClient, type RequestLimit } from "../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { PermanentJobError } from "../jobs/job_errors.ts";
import type { MailMessage, MailTransport } from "./transports.ts";

/** Options of {@link createSesTransport}. */
export interface SesTransportOptions {
  /**
   * Configuration set, through which SES reports bounces and complaints.
   * @default the environment variable `MAIL_CONFIGURATION_SET`, else the configuration set of the identity
   */
  configurationSet?: string;
}

const NAME: OptionRule = [
  (value) => typeof value === "string" && /^[\w-]{1,64}$/.test(value),
  "the name of a configuration set",
];

const LIMIT: RequestLimit = { service: "Amazon SES", limitMs: 10_000 };

/** Answers that are the same for each attempt. */
const PERMANENT: ReadonlySet<string> = new Set(["MessageRejected", "BadRequestException"]);

/**
 * Creates a transport through Amazon SES, version 2 of its API. Install `@aws-sdk/client-sesv2`. Region and credentials come from the
 * environment; the role needs `ses:SendEmail` on the identity.
 *
 * @param options Configuration set.
 * @returns The transport.
 * @throws {ConfigurationError} If an option is invalid.
 *
 * @example
 * ```ts
 * import { configureMail, createSesTransport } from "@trellis/fn/mail";
 *
 * configureMail({ transport: createSesTransport({ configurationSet: "notes" }), from: "notes@example.com" })();
 * ```
 */
export function createSesTransport(options: SesTransportOptions = {}): MailTransport {
  checkOptions("createSesTransport", options, { configurationSet: NAME });
  const getConnection = loadOnce(connect);
  return {
    async send(message, signal): Promise<void> {
      const { sdk, client } = await getConnection();
      const { configurationSet = getOptionalEnv("MAIL_CONFIGURATION_SET") } = options;
      try {
        await client.send(new sdk.SendEmailCommand(toInput(message, configurationSet)), {
          abortSignal: signal,
        });
      } catch (error) {
        const { name } = error as Error;
        if (!PERMANENT.has(name)) throw error;
        throw new PermanentJobError(`SES refused the mail: ${name}`, { cause: error });
      }
    },
  };
}

async function connect(): Promise<{ sdk: typeof Ses; client: Ses.SESv2Client }> {
  const sdk = await import("@aws-sdk/client-sesv2").catch(
    explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-sesv2", "createSesTransport"),
  );
  return { sdk, client: limitClient(new sdk.SESv2Client({}), LIMIT) };
}

function toInput(
  message: MailMessage,
  configurationSet: string | undefined,
): Ses.SendEmailCommandInput {
  const { id, name, from, to, cc, bcc, replyTo, subject, text, html, headers } = message;
  const toContent = (data: string) => ({ Data: data, Charset: "UTF-8" });
  return {
    FromEmailAddress: from,
    Destination: { ToAddresses: [...to], CcAddresses: [...cc], BccAddresses: [...bcc] },
    ReplyToAddresses: [...replyTo],
    ConfigurationSetName: configurationSet,
    // SES reports them with bounces and complaints
    EmailTags: [{ Name: "mail", Value: name.replaceAll(".", "_") }, { Name: "mail-id", Value: id }],
    Content: {
      Simple: {
        Subject: toContent(subject),
        Body: { Text: toContent(text), ...(html !== undefined && { Html: toContent(html) }) },
        Headers: Object.entries(headers).map(([Name, Value]) => ({ Name, Value })),
      },
    },
  };
}
