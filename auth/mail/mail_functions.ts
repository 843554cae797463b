import { logError } from "../../observability/logger.ts";
import type { BetterAuthOptions } from "../better_auth/better_auth_types.ts";

type MailOptions = Pick<BetterAuthOptions, "emailAndPassword" | "emailVerification" | "user">;

/**
 * Catches and logs the errors of functions that send mails only to registered addresses. Otherwise
 * a failure would be answered with 500 for these addresses, and with 200 for others.
 *
 * @param options Options of better-auth.
 * @returns The options with these functions replaced.
 */
export function protectMailFunctions(
  { emailAndPassword, emailVerification, user }: MailOptions,
): MailOptions {
  return {
    ...emailAndPassword && {
      emailAndPassword: {
        ...emailAndPassword,
        sendResetPassword: catchErrors(emailAndPassword.sendResetPassword),
        onExistingUserSignUp: catchErrors(emailAndPassword.onExistingUserSignUp),
      },
    },
    ...emailVerification && {
      emailVerification: {
        ...emailVerification,
        sendVerificationEmail: catchErrors(emailVerification.sendVerificationEmail),
      },
    },
    ...user?.changeEmail && {
      user: {
        ...user,
        changeEmail: {
          ...user.changeEmail,
          sendChangeEmailConfirmation: catchErrors(user.changeEmail.sendChangeEmailConfirmation),
        },
      },
    },
  };
}

function catchErrors<Input extends unknown[]>(
  send: ((...input: Input) => Promise<void>) | undefined,
): ((...input: Input) => Promise<void>) | undefined {
  return send && async function sendSafely(...input: Input): Promise<void> {
    try {
      await send(...input);
    } catch (error) {
      logError("A mail of the auth routes could not be sent", { error });
    }
  };
}
