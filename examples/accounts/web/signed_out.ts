/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { client } from "./client.ts";
import { button, form, run, section } from "./dom.ts";

const EMAIL = { name: "email", label: "Email", type: "email", autocomplete: "email" } as const;
const PASSWORD = { name: "password", label: "Password", type: "password" } as const;
const here = () => `${location.origin}/`;

/**
 * Lists the ways to sign up and to sign in.
 *
 * @param refresh Shows the page again, after a sign-in.
 */
export function listSignIns(refresh: () => void): HTMLElement[] {
  async function signIn(action: Parameters<typeof run>[1]): Promise<void> {
    if (await run("Signed in", action)) refresh();
  }
  return [
    section(
      "Sign up",
      form(
        "Sign up",
        [{ name: "name", label: "Name" }, EMAIL, PASSWORD],
        (values) =>
          run("Check your mail to verify your address", () =>
            client.signUp.email({
              name: values.name,
              email: values.email,
              password: values.password,
              callbackURL: here(),
            })),
      ),
    ),
    section(
      "Sign in",
      form("Sign in", [EMAIL, PASSWORD], ({ email, password }) =>
        signInWithPassword(
          () => client.signIn.email({ email, password }),
          refresh,
        )),
      form(
        "Sign in by username",
        [{ name: "username", label: "Username" }, PASSWORD],
        (values) =>
          signInWithPassword(
            () => client.signIn.username({ username: values.username, password: values.password }),
            refresh,
          ),
      ),
    ),
    section(
      "Sign in without a password",
      form(
        "Send a magic link",
        [EMAIL],
        ({ email }) =>
          run(
            "Check your mail for the link",
            () => client.signIn.magicLink({ email, callbackURL: here() }),
          ),
      ),
      form(
        "Send a code",
        [EMAIL],
        ({ email }) =>
          run(
            "Check your mail for the code",
            () => client.emailOtp.sendVerificationOtp({ email, type: "sign-in" }),
          ),
      ),
      form(
        "Sign in by code",
        [EMAIL, { name: "otp", label: "Code" }],
        ({ email, otp }) => signIn(() => client.signIn.emailOtp({ email, otp })),
      ),
      button("Sign in by passkey", () => signIn(() => client.signIn.passkey())),
      button("Continue as a guest", () => signIn(() => client.signIn.anonymous())),
    ),
    section(
      "Forgot your password?",
      form(
        "Send a reset link",
        [EMAIL],
        ({ email }) =>
          run(
            "If the address is known, a mail was sent",
            () => client.requestPasswordReset({ email, redirectTo: `${here()}?reset=1` }),
          ),
      ),
    ),
  ];
}

async function signInWithPassword(
  action: () => Promise<{ data?: unknown; error?: { message?: string } | null }>,
  refresh: () => void,
): Promise<void> {
  let needsCode = false;
  const isDone = await run("Signed in", async () => {
    const result = await action();
    needsCode = (result.data as { twoFactorRedirect?: boolean } | null)?.twoFactorRedirect === true;
    return result;
  });
  if (needsCode) showTwoFactor(refresh);
  else if (isDone) refresh();
}

/** Asks for the code of the authenticator. */
function showTwoFactor(refresh: () => void): void {
  const verify = async (action: Parameters<typeof run>[1]) => {
    if (await run("Signed in", action)) refresh();
  };
  document.getElementById("main")!.replaceChildren(
    section(
      "Two-factor sign-in",
      form(
        "Verify the code",
        [{ name: "code", label: "Code of your authenticator" }],
        ({ code }) => verify(() => client.twoFactor.verifyTotp({ code })),
      ),
      form(
        "Use a backup code",
        [{ name: "code", label: "Backup code" }],
        ({ code }) => verify(() => client.twoFactor.verifyBackupCode({ code })),
      ),
    ),
  );
  document.getElementById("status")!.textContent = "Enter your code";
}

/**
 * Shows the form for a new password, which the link of the mail leads to.
 *
 * @param token Token of the link.
 */
export function showReset(token: string): HTMLElement {
  return section(
    "New password",
    form("Set the password", [PASSWORD], async ({ password }) => {
      const isDone = await run(
        "The password is changed. Sign in with it",
        () => client.resetPassword({ token, newPassword: password }),
      );
      if (isDone) history.replaceState(null, "", "/");
    }),
  );
}
