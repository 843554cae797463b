import type { BetterAuthPlugin } from "better-auth";
import type { BetterAuthOptions } from "../better_auth/better_auth_types.ts";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";

/** Checks that a request signs up. Calls of the API without one get their mail from better-auth, after COMMIT. */
function isSignUp(request: Request | undefined): boolean {
  return request !== undefined && /\/sign-up\/email\/?$/.test(new URL(request.url).pathname);
}

/**
 * Writes the mail of a sign-up in the transaction that creates the account. better-auth calls the
 * function for it after COMMIT: a process that stops in between would leave an account without a
 * mail.
 *
 * @param options Options of better-auth, whose function writes mails to the outbox.
 * @param library better-auth.
 * @returns Options whose function writes no second mail, and the plugin that writes the first.
 */
export function mailInSignUp(
  options: BetterAuthOptions,
  library: Pick<BetterAuthLibrary, "createEmailVerificationToken">,
): { readonly options: BetterAuthOptions; readonly plugins: readonly BetterAuthPlugin[] } {
  const { emailVerification, emailAndPassword } = options;
  const { sendVerificationEmail: send, expiresIn } = emailVerification ?? {};
  const sendsMail = emailVerification?.sendOnSignUp ?? emailAndPassword?.requireEmailVerification;
  if (send === undefined || !sendsMail) return { options, plugins: [] };

  const plugin: BetterAuthPlugin = {
    id: "trellis-sign-up-mail",
    init: () => ({ options: { databaseHooks: { account: { create: { before: writeMail } } } } }),
  };
  type Hook = NonNullable<
    NonNullable<NonNullable<BetterAuthOptions["databaseHooks"]>["account"]>["create"]
  >["before"];

  // the account is inserted after the user, in the same transaction
  async function writeMail(
    account: Parameters<NonNullable<Hook>>[0],
    given: Parameters<NonNullable<Hook>>[1],
  ): Promise<void> {
    if (given === null || !isSignUp(given.request)) return;
    const { context, body } = given;
    const user = await context.internalAdapter.findUserById(account.userId);
    if (user === null) return;
    const token = await library.createEmailVerificationToken(
      context.secret,
      user.email,
      undefined,
      expiresIn,
      { userId: user.id },
    );
    const page = encodeURIComponent(body.callbackURL || "/");
    const url = `${context.baseURL}/verify-email?token=${token}&callbackURL=${page}`;
    await send!({ user, url, token }, given.request);
  }

  async function sendOnce(...input: Parameters<NonNullable<typeof send>>): Promise<void> {
    if (!isSignUp(input[1])) await send!(...input);
  }
  return {
    options: {
      ...options,
      emailVerification: { ...emailVerification, sendVerificationEmail: sendOnce },
    },
    plugins: [plugin],
  };
}
