import { ConfigurationError } from "../../errors/http_errors.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";

/** Functions that send mails with a link. */
export interface LinkSenders {
  /** `emailAndPassword.sendResetPassword`. */
  sendResetPassword(mail: LinkMail): Promise<void>;
  /** `emailVerification.sendVerificationEmail`. */
  sendVerificationEmail(mail: LinkMail): Promise<void>;
  /**
   * `emailAndPassword.onExistingUserSignUp`, which better-auth calls if its answer does not show that
   * the address has an account.
   */
  onExistingUserSignUp(data: { readonly user: MailUser }): Promise<void>;
  /** `user.changeEmail.sendChangeEmailConfirmation`, added if changes of address are enabled. */
  sendChangeEmailConfirmation(mail: LinkMail & { readonly newEmail: string }): Promise<void>;
}

/** Recipient of a mail. */
export interface MailUser {
  /** Address. */
  readonly email: string;
  /** Name. */
  readonly name?: string;
}

/** Mail with a link, as better-auth describes it. */
export interface LinkMail {
  /** The recipient. */
  readonly user: MailUser;
  /** The link. */
  readonly url: string;
}

/**
 * Adds the functions that send mails to the options of better-auth. A function that the options set
 * to `undefined` is left to a plugin.
 *
 * @param library Options of better-auth.
 * @param senders The functions.
 * @returns New options.
 * @throws {ConfigurationError} If the options have such a function already.
 */
export function addLinkSenders(library: LibraryOptions, senders: LinkSenders): LibraryOptions {
  const { sendResetPassword, sendVerificationEmail, sendChangeEmailConfirmation } = senders;
  const { emailAndPassword = { enabled: true }, emailVerification, user } = library;
  refuse("emailAndPassword.sendResetPassword", emailAndPassword.sendResetPassword);
  refuse("emailVerification.sendVerificationEmail", emailVerification?.sendVerificationEmail);
  refuse(
    "user.changeEmail.sendChangeEmailConfirmation",
    user?.changeEmail?.sendChangeEmailConfirmation,
  );
  const { onExistingUserSignUp } = senders;
  return {
    ...library,
    emailAndPassword: { onExistingUserSignUp, sendResetPassword, ...emailAndPassword },
    emailVerification: { sendVerificationEmail, ...emailVerification },
    ...(user?.changeEmail?.enabled === true && {
      user: { ...user, changeEmail: { sendChangeEmailConfirmation, ...user.changeEmail } },
    }),
  };
}

function refuse(option: string, given: unknown): void {
  if (given === undefined) return;
  throw new ConfigurationError(
    `AuthConfig.mail and AuthConfig.${option} are both set: keep one. To change one mail, replace its template in ` +
      "createAccountMails",
  );
}
