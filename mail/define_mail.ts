import { checkOption, FUNCTION_OPTION } from "../core/option_rules.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import { UnexpectedError } from "../errors/http_errors.ts";
import { defineJob, type Job } from "../jobs/define_job.ts";
import type { JobInput, JobOutput } from "../jobs/job_options.ts";
import type { JobClient } from "../jobs/enqueue.ts";
import type { JobRetryOptions } from "../jobs/job_options.ts";
import type { EnqueueOptions } from "../jobs/job_row.ts";
import { hasControl } from "./address.ts";
import type { MailContent, MailMessage } from "./transports.ts";
import { createPayloadSchema, type MailOptions, type MailPayload } from "./mail_payload.ts";
import { getMailConfig } from "./mail_settings.ts";
import { record } from "../env/recording.ts";

/** Options of {@link defineMail}. */
export interface DefineMailOptions<TSchema extends StandardSchema> {
  /** Name of the mail: letters, digits, `.`, `_` and `-`. Its job is called `mail.<name>`. */
  name: string;
  /** Schema of the data, checked when the mail is sent and again before it is rendered. */
  schema: TSchema;
  /** Renders the mail. Runs in the worker; templates of any library can be used. Escape data in HTML, such as with `escapeHtml`. */
  render: (data: JobOutput<TSchema>) => MailContent | Promise<MailContent>;
  /**
   * How often a failed mail is sent again.
   * @default { maxAttempts: 10 }
   */
  retry?: JobRetryOptions;
  /**
   * Seconds that a sent mail is kept in the table of jobs. A `key` is unique for as long.
   * @default 86400
   */
  keepSeconds?: number;
}

/** One mail to send. */
export interface MailRequest<TData> extends MailOptions, EnqueueOptions {
  /** Data for the template. */
  data: TData;
}

/** Declared mail. */
export interface Mail<TInput = unknown, TOutput = unknown> {
  /** Name of the mail. */
  readonly mailName: string;
  /** Job that sends the mail: pass it to `createJobWorker`. */
  readonly job: Job<unknown, MailPayload<TOutput>, false>;
  /** Renders the mail, for tests and previews. */
  render(data: TOutput): Promise<MailContent>;
  /**
   * Writes the mail to the outbox, in the transaction of `client`. It is sent after COMMIT, and never if the transaction is rolled
   * back.
   *
   * @param client A transaction's client; or a client, for a mail outside of a transaction.
   * @param request Recipients, data, and options of the job.
   * @returns The mail's id.
   * @throws {ValidationError} If an address, a header or the data is invalid.
   */
  send(client: JobClient, request: MailRequest<TInput>): Promise<string>;
}

/**
 * Declares a mail. `send` writes it to the outbox of `@trellis/fn/jobs`; a worker renders it and sends it with the transport of
 * `configureMail`.
 *
 * @param options Name, schema, template.
 * @returns The mail.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { configureMail, createMemoryTransport, defineMail, escapeHtml } from "@trellis/fn/mail";
 * import { createJobWorker, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { withTransaction } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const transport = createMemoryTransport();
 * configureMail({ transport, from: "Notes <notes@example.com>" });
 * const welcome = defineMail({
 *   name: "welcome",
 *   schema: z.object({ name: z.string() }),
 *   render: ({ name }) => ({
 *     subject: `Welcome, ${name}`,
 *     text: `Hello ${name}`,
 *     html: `<p>Hello ${escapeHtml(name)}</p>`,
 *   }),
 * });
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * await withTransaction(db, async (tx) => {
 *   await welcome.send(tx, { to: "ada@example.com", data: { name: "Ada" } });
 * });
 * const worker = createJobWorker({ getDb: () => db, jobs: [welcome.job], logging: { level: "SILENT" }, metrics: false });
 * await worker.runDue();
 * console.log(transport.mails[0].subject); // Welcome, Ada
 * await close();
 * ```
 */
export function defineMail<TSchema extends StandardSchema>(
  options: DefineMailOptions<TSchema>,
): Mail<JobInput<TSchema>, JobOutput<TSchema>> {
  const { name, render, retry, keepSeconds } = options;
  checkOption("render", render, FUNCTION_OPTION);
  const schema = options.schema as StandardSchema<JobOutput<TSchema>>;

  const job = defineJob<StandardSchema<MailPayload<JobOutput<TSchema>>>>({
    name: `mail.${name}`,
    schema: createPayloadSchema(schema),
    ...(retry && { retry }),
    ...(keepSeconds !== undefined && { keepSeconds }),
  })(async function sendMail({ payload, idempotencyKey, signal }) {
    const { transport, from } = getMailConfig();
    const { data, ...recipients } = payload as MailPayload<JobOutput<TSchema>>;
    const content = checkContent(name, await render(data));
    const message: MailMessage = { ...content, ...recipients, id: idempotencyKey, name, from };
    await transport.send(message, signal);
  });

  return record("defineMail", [options], {
    mailName: name,
    job: job as Job<unknown, MailPayload<JobOutput<TSchema>>, false>,
    render: async (data) => checkContent(name, await render(data)),
    send(client, { delaySeconds, key, group, ...payload }): Promise<string> {
      return job.enqueue(client, payload, { delaySeconds, key, group });
    },
  });
}

/** Removes what would end the header of the subject. */
function checkContent(name: string, content: MailContent): MailContent {
  const { subject, text, html } = content ?? {};
  const isValid = typeof subject === "string" && typeof text === "string" &&
    (html === undefined || typeof html === "string");
  if (!isValid) {
    throw new UnexpectedError(`render of the mail ${name} must return { subject, text, html }`);
  }
  const safe = [...subject].map((character) => hasControl(character) ? " " : character).join("");
  return { subject: safe.trim(), text, ...(html !== undefined && { html }) };
}
