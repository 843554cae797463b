import {
  checkOption,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  someText,
} from "../../core/option_rules.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { createSchema } from "../../env/standard_schema.ts";
import type { AnyJob } from "../../jobs/define_job.ts";
import type { JobClient } from "../../jobs/enqueue.ts";
import { defineMail, type Mail } from "../../mail/define_mail.ts";
import {
  addLinkSenders,
  type LinkMail,
  type LinkSenders,
  type MailUser,
} from "./add_link_senders.ts";
import { showName } from "./mail_names.ts";
import { addMail, findAuthTransaction } from "../better_auth/statement_scope.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";
import {
  ACCOUNT_TEMPLATES,
  type AccountMailData,
  type AccountMailKind,
  type AccountMailTemplate,
} from "./account_templates.ts";
import { record } from "../../env/recording.ts";

/** Options of {@link createAccountMails}. */
export interface AccountMailsOptions {
  /** Returns the client of the database with the accounts and the table of jobs. */
  getDb: () => JobClient | Promise<JobClient>;
  /** Name of the application, in subjects and texts. */
  appName: string;
  /**
   * Templates that replace the default ones.
   * @default {}
   */
  templates?: Partial<Record<AccountMailKind, AccountMailTemplate>>;
  /**
   * Returns the page on which an invitation is accepted.
   * @default none: sending an invitation throws
   */
  invitationUrl?: (invitationId: string) => string;
}

/** Mails of accounts, for `AuthConfig.mail` and for plugins of better-auth. */
export interface AccountMails extends LinkSenders {
  /** Jobs that send the mails: add them to the worker. */
  readonly jobs: readonly AnyJob[];
  /** Adds the functions for links to the options of better-auth. Called by `createAuth`. */
  addTo(options: LibraryOptions): LibraryOptions;
  /** `user.deleteUser.sendDeleteAccountVerification`. */
  sendDeleteAccountVerification(mail: LinkMail): Promise<void>;
  /** `sendInvitationEmail` of the plugin `organization`. */
  sendInvitationEmail(invitation: {
    readonly id: string;
    readonly email: string;
    readonly organization: { readonly name: string };
    readonly inviter: { readonly user: MailUser };
  }): Promise<void>;
  /** `sendMagicLink` of the plugin `magicLink`. */
  sendMagicLink(mail: { readonly email: string; readonly url: string }): Promise<void>;
  /** `sendVerificationOTP` of the plugin `emailOTP`. */
  sendVerificationOTP(
    mail: { readonly email: string; readonly otp: string; readonly type: string },
  ): Promise<void>;
  /** `otpOptions.sendOTP` of the plugin `twoFactor`. */
  sendOTP(mail: { readonly user: MailUser; readonly otp: string }): Promise<void>;
}

const KINDS = Object.keys(ACCOUNT_TEMPLATES) as AccountMailKind[];

/** Links and codes stay in the table no longer than the jobs require. */
const KEEP_SECONDS = 60;

const TEXT = someText("a text");
const RULES = {
  getDb: FUNCTION_OPTION,
  appName: TEXT,
  templates: OBJECT_OPTION,
  invitationUrl: FUNCTION_OPTION,
};

/**
 * Creates the mails of accounts: resets, verifications, changes of address, invitations, magic links and one-time codes. They are
 * written to the outbox of `@trellis/fn/jobs` and sent by a worker.
 *
 * @param options Client, name of the application, templates.
 * @returns The mails, for `AuthConfig.mail` and for plugins.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { createAccountMails } from "@trellis/fn/auth";
 * import { getDrizzleClient } from "@trellis/fn/database";
 *
 * const mails = createAccountMails({
 *   getDb: () => getDrizzleClient({ provider: "embedded-pg" }),
 *   appName: "Notes",
 *   templates: { magicLink: ({ url }) => ({ subject: "Your link", text: url }) },
 * });
 * console.log(mails.jobs.length); // 8
 * // AuthConfig: { mail: mails, plugins: () => [magicLink({ sendMagicLink: mails.sendMagicLink })] }
 * ```
 */
export function createAccountMails(options: AccountMailsOptions): AccountMails {
  checkOptions("createAccountMails", options, RULES);
  const { getDb, appName, templates = {}, invitationUrl } = options;
  checkOption("getDb", getDb, FUNCTION_OPTION);
  checkOption("appName", appName, TEXT);
  checkOptions(
    "templates",
    templates,
    Object.fromEntries(KINDS.map((kind) => [kind, FUNCTION_OPTION])),
    "templates.",
  );
  const mails = Object.fromEntries(
    KINDS.map((kind) => [kind, defineAccountMail(kind, templates[kind])]),
  ) as Record<AccountMailKind, Mail<AccountMailData, AccountMailData>>;

  const send: SendMail = async function sendMail(kind, to, data) {
    addMail();
    // in better-auth's transaction: the mail is sent if the account is stored
    const client = findAuthTransaction() ?? await getDb();
    await mails[kind].send(client, { to, data: { ...NO_DATA, appName, ...data } });
  };
  const sendLink = (kind: AccountMailKind) => ({ user, url }: LinkMail): Promise<void> =>
    send(kind, user.email, { name: user.name ?? "", url });

  const senders: LinkSenders = {
    sendResetPassword: sendLink("resetPassword"),
    sendVerificationEmail: sendLink("verifyEmail"),
    sendChangeEmailConfirmation: ({ user, newEmail, url }) =>
      send("changeEmail", user.email, { name: user.name ?? "", newEmail, url }),
    onExistingUserSignUp: ({ user }) =>
      send("existingAccount", user.email, { name: user.name ?? "" }),
  };
  return record("createAccountMails", [options], {
    ...senders,
    jobs: KINDS.map((kind) => mails[kind].job),
    addTo: (options) => addLinkSenders(options, senders),
    sendDeleteAccountVerification: sendLink("deleteAccount"),
    sendInvitationEmail: createInvitationSender(send, invitationUrl),
    sendMagicLink: ({ email, url }) => send("magicLink", email, { url }),
    sendVerificationOTP: ({ email, otp, type }) =>
      send("oneTimeCode", email, { code: otp, purpose: type }),
    sendOTP: ({ user, otp }) =>
      send("oneTimeCode", user.email, {
        name: user.name ?? "",
        code: otp,
        purpose: "two-factor",
      }),
  });
}

type SendMail = (
  kind: AccountMailKind,
  to: string,
  data: Partial<AccountMailData>,
) => Promise<void>;

function createInvitationSender(
  send: SendMail,
  getUrl: AccountMailsOptions["invitationUrl"],
): AccountMails["sendInvitationEmail"] {
  return function sendInvitationEmail({ id, email, organization, inviter }) {
    // thrown before better-auth gets a promise, whose rejection it would only log
    if (getUrl === undefined) {
      throw new ConfigurationError(
        "createAccountMails needs the option invitationUrl to send invitations, such as " +
          "(id) => `https://app.example.com/invitations/${id}`",
      );
    }
    const { name, email: address } = inviter.user;
    const data = {
      organization: organization.name,
      inviter: showName(name ?? "") || address,
      url: getUrl(id),
    };
    return send("invitation", email, data);
  };
}

const NO_DATA: AccountMailData = {
  appName: "",
  name: "",
  url: "",
  code: "",
  purpose: "",
  newEmail: "",
  organization: "",
  inviter: "",
};

function defineAccountMail(
  kind: AccountMailKind,
  template: AccountMailTemplate | undefined,
): Mail<AccountMailData, AccountMailData> {
  const name = kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return defineMail({
    name: `account.${name}`,
    schema: DATA_SCHEMA,
    render: template ?? ACCOUNT_TEMPLATES[kind],
    keepSeconds: KEEP_SECONDS,
  }) as Mail<AccountMailData, AccountMailData>;
}

/** Accepts objects of texts. */
const DATA_SCHEMA = createSchema<AccountMailData>((value) => {
  const data = { ...NO_DATA, ...Object(value) } as AccountMailData;
  const wrong = Object.entries(data).find(([, text]) => typeof text !== "string");
  if (wrong === undefined) return { value: data };
  return { issues: [{ message: "Must be a text", path: [wrong[0]] }] };
});
