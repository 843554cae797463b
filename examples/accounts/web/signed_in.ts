/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { client, type PageUser, readApi } from "./client.ts";
import { button, el, form, run, section } from "./dom.ts";

const PASSWORD = { name: "password", label: "Password", type: "password" } as const;

/**
 * Lists what a user can do with their own account.
 *
 * @param user The signed-in user.
 * @param refresh Shows the page again, after a change.
 */
export function listAccountActions(user: PageUser, refresh: () => void): HTMLElement[] {
  async function change(done: string, action: Parameters<typeof run>[1]): Promise<void> {
    if (await run(done, action)) refresh();
  }
  const api = el("code", { id: "me" });
  return [
    section(
      "Profile",
      el("p", {}, `${user.name}, role ${user.role ?? "user"}, username ${user.username ?? "none"}`),
      button("Ask the API who I am", async () => {
        api.textContent = JSON.stringify(await readApi("/me"));
      }),
      api,
      form(
        "Set a username",
        [{ name: "username", label: "Username" }],
        ({ username }) => change("The username is set", () => client.updateUser({ username })),
      ),
      form(
        "Change the address",
        [{ name: "email", label: "New email", type: "email" }],
        (values) =>
          run(
            "Check your mail to confirm the change",
            () =>
              client.changeEmail({ newEmail: values.email, callbackURL: `${location.origin}/` }),
          ),
      ),
      button("Sign out", () => change("Signed out", () => client.signOut())),
      button(
        "Delete the account",
        () =>
          run(
            "Check your mail to confirm the deletion",
            () => client.deleteUser({ callbackURL: `${location.origin}/` }),
          ),
      ),
    ),
    section(
      "Two-factor sign-in",
      el("p", { id: "two-factor" }, user.twoFactorEnabled ? "It is on" : "It is off"),
      el("code", { id: "totp-uri" }),
      el("code", { id: "backup-codes" }),
      form("Turn it on", [PASSWORD], ({ password }) => startTwoFactor(password)),
      form(
        "Confirm with a code",
        [{ name: "code", label: "Code" }],
        ({ code }) =>
          change("Two-factor sign-in is on", () => client.twoFactor.verifyTotp({ code })),
      ),
    ),
    section(
      "Passkeys",
      el("ul", { id: "passkeys" }),
      button(
        "Add a passkey",
        () =>
          change("The passkey is added", () => client.passkey.addPasskey({ name: "This device" })),
      ),
    ),
    section(
      "Sessions of this browser",
      el("ul", { id: "device-sessions" }),
    ),
  ];
}

async function startTwoFactor(password: string): Promise<void> {
  await run("Add the address to your authenticator, then confirm with a code", async () => {
    const result = await client.twoFactor.enable({ password });
    const { totpURI = "", backupCodes = [] } = (result.data ?? {}) as {
      totpURI?: string;
      backupCodes?: string[];
    };
    document.getElementById("totp-uri")!.textContent = totpURI;
    document.getElementById("backup-codes")!.textContent = backupCodes.join(" ");
    return result;
  });
}

/**
 * Fills the lists of passkeys and of the sessions in this browser.
 *
 * @param user The signed-in user.
 * @param refresh Shows the page again, after a switch.
 */
export async function fillLists(user: PageUser, refresh: () => void): Promise<void> {
  const [{ data: passkeys }, { data: sessions }] = await Promise.all([
    client.passkey.listUserPasskeys(),
    client.multiSession.listDeviceSessions(),
  ]);
  const list = document.getElementById("passkeys");
  list?.replaceChildren(...(passkeys ?? []).map(({ name }) => el("li", {}, name ?? "Passkey")));
  document.getElementById("device-sessions")?.replaceChildren(
    ...(sessions ?? []).map((each) =>
      el(
        "li",
        {},
        each.user.id === user.id
          ? `${each.user.email} (current)`
          : button(`Switch to ${each.user.email}`, async () => {
            const { token } = each.session;
            const isDone = await run(
              "Switched",
              () => client.multiSession.setActive({ sessionToken: token }),
            );
            if (isDone) refresh();
          }),
      )
    ),
  );
}
