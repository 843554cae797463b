/// <reference lib="dom" />
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import config from "../../examples/accounts/trellis.config.ts";
import { type ExampleLab, startExample } from "./example_lab.ts";
import type { Visitor } from "./visitor.ts";
import { computeTotp } from "./accounts/totp.ts";
import { browserPath } from "../support/browser.ts";

const PASSWORD = "correct horse battery";
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";

/** Signs a user up and follows the link of the verification mail, which signs them in. */
async function signUp(lab: ExampleLab, visitor: Visitor, email: string): Promise<void> {
  await visitor.open();
  await visitor.submit("Sign up", { name: "Test", email, password: PASSWORD }, "Check your mail");
  const mail = await lab.waitForMail(email, "Confirm your address for Accounts");
  await visitor.open(mail.links[0]);
  await visitor.isSignedInAs(email);
}

/** Opens a window and signs a user up. */
async function signUpVisitor(lab: ExampleLab, email: string): Promise<Visitor> {
  const visitor = await lab.visit();
  await signUp(lab, visitor, email);
  return visitor;
}

async function signOut(visitor: Visitor): Promise<void> {
  await visitor.press("Sign out", "");
  await visitor.isSignedOut();
}

async function signIn(visitor: Visitor, email: string, password = PASSWORD): Promise<void> {
  await visitor.open();
  await visitor.submit("Sign in", { email, password }, "Signed in");
  await visitor.isSignedInAs(email);
}

/** Flows that each run shows; each has visitors of its own. */
const FLOWS: Readonly<Record<string, (lab: ExampleLab) => Promise<void>>> = {
  async "sign-up with verification, and the API with the cookie from another origin"(lab) {
    const visitor = await lab.visit();
    const email = "ada@example.com";
    await visitor.open();
    await visitor.submit("Sign up", { name: "Ada", email, password: PASSWORD }, "Check your mail");
    await visitor.submit("Sign in", { email, password: PASSWORD }, "EMAIL_NOT_VERIFIED");
    const mail = await lab.waitForMail(email, "Confirm your address for Accounts");
    await visitor.open(mail.links[0]);
    await visitor.isSignedInAs(email);
    await visitor.press("Ask the API who I am", "");
    await visitor.shows("#me", `"email":"${email}"`);
    await signOut(visitor);
    await visitor.submit("Sign in", { email, password: "wrong password" }, "INVALID_EMAIL");
    await visitor.close();
  },

  async "password reset"(lab) {
    const visitor = await lab.visit();
    const email = "reset@example.com";
    await signUp(lab, visitor, email);
    await signOut(visitor);
    await visitor.submit("Send a reset link", { email }, "a mail was sent");
    const unknown = "nobody@example.com";
    await visitor.submit("Send a reset link", { email: unknown }, "a mail was sent");
    const mail = await lab.waitForMail(email, "Reset your password for Accounts");
    await visitor.open(mail.links[0]);
    await visitor.submit("Set the password", { password: "new horse battery" }, "is changed");
    await visitor.submit("Sign in", { email, password: PASSWORD }, "INVALID_EMAIL");
    await signIn(visitor, email, "new horse battery");
    await visitor.close();
  },

  async "two-factor sign-in by a code and by a backup code"(lab) {
    const visitor = await lab.visit();
    const email = "two@example.com";
    await signUp(lab, visitor, email);
    await visitor.submit("Turn it on", { password: PASSWORD }, "Add the address");
    const uri = await visitor.text("#totp-uri");
    const [backupCode] = (await visitor.text("#backup-codes")).split(" ");
    await visitor.submit("Confirm with a code", { code: "000000" }, "INVALID_CODE");
    await visitor.submit("Confirm with a code", { code: computeTotp(uri) }, "is on");
    await visitor.shows("#two-factor", "It is on");
    for (const method of ["Verify the code", "Use a backup code"]) {
      await signOut(visitor);
      await visitor.submit("Sign in", { email, password: PASSWORD }, "Enter your code");
      // the code of the next period, because each is accepted once
      const code = method === "Verify the code"
        ? computeTotp(uri, Date.now() + 30_000)
        : backupCode;
      await visitor.submit(method, { code }, "Signed in");
      await visitor.isSignedInAs(email);
    }
    await visitor.close();
  },

  async "organization with an invitation"(lab) {
    const owner = await lab.visit();
    const guest = await lab.visit();
    await signUp(lab, owner, "owner@example.com");
    await signUp(lab, guest, "guest@example.com");
    await owner.submit("Create an organization", { name: "Acme", slug: "acme" }, "is created");
    await owner.shows("#organizations", "Acme: owner@example.com (owner)");
    await owner.submit("Invite", { email: "guest@example.com", role: "admin" }, "is sent");
    const mail = await lab.waitForMail("guest@example.com", "Join Acme at Accounts");
    await guest.open(mail.links[0]);
    await guest.press("Accept the invitation", "You are a member now");
    await guest.shows("#organizations", "guest@example.com (admin)");
    const { organizations } = await lab.askPage<
      { organizations: { slug: string; members: unknown[]; invitations: { status: string }[] }[] }
    >("accounts");
    assertEquals(
      organizations.map(({ slug, members, invitations }) => [
        slug,
        members.length,
        invitations.map(({ status }) => status),
      ]),
      [["acme", 2, ["accepted"]]],
    );
    await Promise.all([owner.close(), guest.close()]);
  },

  async "passkeys with the browser's virtual authenticator"(lab) {
    const visitor = await lab.visit();
    const cdp = await visitor.page.createCDPSession();
    await cdp.send("WebAuthn.enable");
    await cdp.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    const email = "passkey@example.com";
    await signUp(lab, visitor, email);
    await visitor.press("Add a passkey", "The passkey is added");
    await visitor.shows("#passkeys", "This device");
    await signOut(visitor);
    await visitor.press("Sign in by passkey", "Signed in");
    await visitor.isSignedInAs(email);
    await visitor.close();
  },
};

/** Flows behind TRELLIS_FULL_TESTS. */
const FULL_FLOWS: typeof FLOWS = {
  async "magic link"(lab) {
    const visitor = await lab.visit();
    const email = "magic@example.com";
    await visitor.open();
    await visitor.submit("Send a magic link", { email }, "Check your mail");
    const mail = await lab.waitForMail(email, "Sign in to Accounts");
    await visitor.open(mail.links[0]);
    await visitor.isSignedInAs(email);
    await visitor.close();
  },

  async "one-time code by mail"(lab) {
    const visitor = await lab.visit();
    const email = "code@example.com";
    await visitor.open();
    await visitor.submit("Send a code", { email }, "Check your mail");
    const { text } = await lab.waitForMail(email, "Your code for Accounts");
    await visitor.submit("Sign in by code", { email, otp: "000000" }, "INVALID_OTP");
    await visitor.submit("Sign in by code", { email, otp: /\d{6}/.exec(text)![0] }, "Signed in");
    await visitor.isSignedInAs(email);
    await visitor.close();
  },

  async "username"(lab) {
    const visitor = await lab.visit();
    await signUp(lab, visitor, "named@example.com");
    await visitor.submit("Set a username", { username: "Lovelace" }, "The username is set");
    await visitor.shows("main", "username lovelace");
    await signOut(visitor);
    const credentials = { username: "lovelace", password: PASSWORD };
    await visitor.submit("Sign in by username", credentials, "Signed in");
    await visitor.isSignedInAs("named@example.com");
    await visitor.close();
  },

  async "guest"(lab) {
    const visitor = await lab.visit();
    await visitor.open();
    await visitor.press("Continue as a guest", "Signed in");
    await visitor.shows("#who", "@guests.example.com");
    await visitor.close();
  },

  async "several sessions in one browser"(lab) {
    const visitor = await lab.visit();
    await signUp(lab, visitor, "first@example.com");
    await (await signUpVisitor(lab, "second@example.com")).close();
    await visitor.page.evaluate(async (authUrl) => {
      await fetch(`${authUrl}/sign-in/email`, {
        method: "POST",
        credentials: "include",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email: "second@example.com", password: "correct horse battery" }),
      });
    }, `http://localhost:${lab.server.port}/auth`);
    await visitor.open();
    await visitor.isSignedInAs("second@example.com");
    await visitor.shows("#device-sessions", "second@example.com (current)");
    await visitor.press("Switch to first@example.com", "Switched");
    await visitor.isSignedInAs("first@example.com");
    await visitor.close();
  },

  async "roles: an administrator changes a role, bans and impersonates"(lab) {
    const admin = await signUpVisitor(lab, "admin@example.com");
    const member = await signUpVisitor(lab, "member@example.com");
    const banned = await signUpVisitor(lab, "banned@example.com");
    await admin.open();
    await admin.press("Make an administrator of member@example.com", "The role is changed");
    await admin.shows("#users", "member@example.com: admin");
    await admin.press("Ban banned@example.com", "The user is banned");
    await admin.shows("#users", "banned@example.com: banned");
    await banned.open();
    await banned.isSignedOut();
    const credentials = { email: "banned@example.com", password: PASSWORD };
    await banned.submit("Sign in", credentials, "BANNED_USER");
    await admin.press("Impersonate ada@example.com", "what the user sees");
    await admin.isSignedInAs("ada@example.com");
    await member.open();
    await member.shows("main", "Administration");
    await Promise.all([admin, member, banned].map((visitor) => visitor.close()));
  },

  async "change of the address"(lab) {
    const visitor = await lab.visit();
    await signUp(lab, visitor, "old@example.com");
    const email = "new@example.com";
    await visitor.submit("Change the address", { email }, "Check your mail");
    const confirmation = await lab.waitForMail(
      "old@example.com",
      "Confirm your new address for Accounts",
    );
    await visitor.open(confirmation.links[0]);
    const verification = await lab.waitForMail(email, "Confirm your address for Accounts");
    await visitor.open(verification.links[0]);
    await visitor.isSignedInAs(email);
    await visitor.close();
  },

  async "deletion of the account"(lab) {
    const visitor = await lab.visit();
    const email = "leaving@example.com";
    await signUp(lab, visitor, email);
    await visitor.press("Delete the account", "Check your mail");
    const mail = await lab.waitForMail(email, "Confirm the deletion of your account at Accounts");
    await visitor.open(mail.links[0]);
    await visitor.isSignedOut();
    await visitor.submit("Sign in", { email, password: PASSWORD }, "INVALID_EMAIL");
    await visitor.close();
  },
};

Deno.test({
  name: "the official client in a browser completes every flow against trellis dev",
  ignore: browserPath === undefined,
  async fn(test) {
    const lab = await startExample({
      name: "accounts",
      config,
      variables: { ADMIN_EMAIL: "admin@example.com" },
      getConstants: (apiUrl) => ({ AUTH_URL: `${apiUrl}/auth` }),
    });
    try {
      for (const [name, flow] of Object.entries({ ...FLOWS, ...isFull ? FULL_FLOWS : {} })) {
        await test.step(name, () => flow(lab));
      }
      await test.step("the local page lists users and signs in as one without a password", () =>
        signInOnPage(lab));
    } finally {
      await lab.stop();
    }
  },
});

/** Uses the tabs Accounts and Mail of the local page. */
async function signInOnPage(lab: ExampleLab): Promise<void> {
  const visitor = await lab.visit();
  const { page } = visitor;
  await page.goto(`http://localhost:${lab.server.port}/_trellis#accounts`);
  await visitor.shows("#panel-accounts", "ada@example.com");
  await visitor.shows("#panel-accounts", "Acme (acme)");
  await visitor.shows("#panel-accounts", "sign-in-failed");
  await page.click('button[aria-label="Sign in as ada@example.com"]');
  await visitor.shows("#panel-accounts", "is signed in as ada@example.com");
  const status = await visitor.text("#panel-accounts [role=status]");
  const token = /Bearer (\S+)/.exec(status)![1];
  const response = await fetch(`http://localhost:${lab.server.port}/me`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assertEquals((await response.json()).email, "ada@example.com");
  await page.click("#tab-mail");
  await visitor.shows("#panel-mail", "Confirm your address for Accounts");
  const links = await page.$$eval("#panel-mail .links a", (all) => all.map(({ href }) => href));
  assert(links.length > 0);
  assertMatch(links[0], /^http:\/\/localhost:\d+\//);
  await visitor.open();
  await visitor.isSignedInAs("ada@example.com");
  await visitor.close();

  const other = await fetch(`http://localhost:${lab.server.port}/_trellis/api/accounts`, {
    headers: { origin: lab.web.url },
  });
  assertEquals(other.status, 403);
  const { users } = await lab.askPage<{ users: { id: string }[] }>("accounts");
  const details = JSON.stringify(await lab.askPage(`accounts/${users[0].id}`));
  assertStringIncludes(details, '"sessions"');
  assert(!details.includes(token));
}
