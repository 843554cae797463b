import { escapeHtml } from "../../core/http/escape_html.ts";
import type { MailContent } from "../../mail/transports.ts";
import { showName } from "./mail_names.ts";

/** Data for the template of an account's mail. */
export interface AccountMailData {
  /** Name of the application. */
  readonly appName: string;
  /** Name of the recipient; empty if it is unknown. */
  readonly name: string;
  /** Link of the mail; empty for one-time codes. */
  readonly url: string;
  /** One-time code; empty for links. */
  readonly code: string;
  /**
   * Use of a one-time code: `sign-in`, `email-verification`, `forget-password`, `change-email` or
   * `two-factor`; empty for links.
   */
  readonly purpose: string;
  /** New address of a change of address; empty otherwise. */
  readonly newEmail: string;
  /** Name of the organization of an invitation; empty otherwise. */
  readonly organization: string;
  /** Name or address of the person who invites; empty otherwise. */
  readonly inviter: string;
}

/** Renders a mail of an account. Values come from users: escape them in HTML. */
export type AccountMailTemplate = (data: AccountMailData) => MailContent | Promise<MailContent>;

/** Kinds of mails of accounts. */
export type AccountMailKind =
  | "resetPassword"
  | "verifyEmail"
  | "changeEmail"
  | "deleteAccount"
  | "invitation"
  | "magicLink"
  | "oneTimeCode"
  | "existingAccount";

interface Words {
  readonly subject: string;
  readonly intro: string;
  /** Text of the link. */
  readonly action?: string;
  readonly outro: string;
}

const IGNORE = "If you did not ask for this, you can ignore this mail.";

const WORDS: Readonly<Record<AccountMailKind, (data: AccountMailData) => Words>> = {
  resetPassword: ({ appName }) => ({
    subject: `Reset your password for ${appName}`,
    intro: `Somebody asked to reset your password for ${appName}.`,
    action: "Choose a new password",
    outro: IGNORE,
  }),
  verifyEmail: ({ appName }) => ({
    subject: `Confirm your address for ${appName}`,
    intro: `Confirm that this address belongs to your account at ${appName}.`,
    action: "Confirm this address",
    outro: "If you did not sign up, do not open the link: somebody else used your address.",
  }),
  changeEmail: ({ appName, newEmail }) => ({
    subject: `Confirm your new address for ${appName}`,
    intro: `Somebody asked to change the address of your account at ${appName} to ${newEmail}.`,
    action: "Approve the change",
    outro: "If you did not ask for this, change your password now.",
  }),
  deleteAccount: ({ appName }) => ({
    subject: `Confirm the deletion of your account at ${appName}`,
    intro: `Somebody asked to delete your account at ${appName}.`,
    action: "Delete the account",
    outro: "If you did not ask for this, change your password now.",
  }),
  invitation: ({ appName, organization, inviter }) => {
    const name = showName(organization) || "an organization";
    return {
      subject: `Join ${name} at ${appName}`,
      intro: `${inviter} invites you to ${name} at ${appName}.`,
      action: "Accept the invitation",
      outro: "If you do not know the sender, you can ignore this mail.",
    };
  },
  magicLink: ({ appName }) => ({
    subject: `Sign in to ${appName}`,
    intro: `Use this link to sign in to ${appName}. It can be used once.`,
    action: "Sign in",
    outro: IGNORE,
  }),
  oneTimeCode: ({ appName, code }) => ({
    subject: `Your code for ${appName}`,
    intro: `Your code for ${appName} is ${code}.`,
    outro: `Never tell it to anybody. ${IGNORE}`,
  }),
  existingAccount: ({ appName }) => ({
    subject: `You already have an account at ${appName}`,
    intro: `Somebody tried to sign up for ${appName} with this address, which has an account.`,
    outro: `Sign in instead, or reset your password. ${IGNORE}`,
  }),
};

/** The default templates. */
export const ACCOUNT_TEMPLATES: Readonly<Record<AccountMailKind, AccountMailTemplate>> = Object
  .fromEntries(
    Object.entries(WORDS).map(([kind, getWords]) => [
      kind,
      (data: AccountMailData) => render(getWords(data), data),
    ]),
  ) as Record<AccountMailKind, AccountMailTemplate>;

function render(words: Words, { name, url }: AccountMailData): MailContent {
  const { subject, intro, action, outro } = words;
  const shown = showName(name);
  const greeting = shown === "" ? "Hello," : `Hello ${shown},`;
  const link = action === undefined ? [] : [`${action}:\n${url}`];
  const button = action === undefined
    ? ""
    : `<p><a href="${escapeHtml(url)}">${escapeHtml(action)}</a></p>`;
  return {
    subject,
    text: [greeting, intro, ...link, outro].join("\n\n"),
    html: `<!doctype html><html><body><p>${escapeHtml(greeting)}</p><p>${escapeHtml(intro)}</p>` +
      `${button}<p>${escapeHtml(outro)}</p></body></html>`,
  };
}
