import { assert, assertEquals } from "@std/assert";
import { phoneNumber } from "better-auth/plugins/phone-number";
import { boolean, pgTable, text } from "drizzle-orm/pg-core";
import {
  type AuthConfig,
  type BetterAuthInstance,
  createAuth,
  createAuthHandler,
} from "../../../auth/mod.ts";
import { AUTH_USER_COLUMNS } from "../../../auth/tables/schema.ts";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";

const { db, pglite, reset } = await openAuthDatabase();
Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

const ADA = "ada@example.com";

const phoneUsers = pgTable("phone_users", {
  ...AUTH_USER_COLUMNS,
  phoneNumber: text("phone_number").unique(),
  phoneNumberVerified: boolean("phone_number_verified"),
});
await pglite.exec(`CREATE TABLE phone_users (LIKE users INCLUDING ALL, phone_number text UNIQUE,
  phone_number_verified boolean); ALTER TABLE accounts DROP CONSTRAINT IF EXISTS accounts_user_id_fkey;`);
Deno.test.beforeEach(async () => void await pglite.exec("TRUNCATE phone_users"));

function createPhoneAuth(send: () => Promise<void>): BetterAuthInstance {
  return createAuth(db, {
    secret: SECRET,
    baseURL: "http://localhost:3000",
    schema: { user: phoneUsers },
    plugins: [phoneNumber({ sendOTP: send, sendPasswordResetOTP: send })],
  });
}

/** Sends requests to the routes. Returns the answer and the number of logged errors. */
function createAsk(auth: BetterAuthInstance, headers: Record<string, string> = {}) {
  const handler = createAuthHandler(() => auth);
  return async function ask(path: string, body: unknown) {
    const event = createHttpApiEvent({ method: "POST", path: `/api/auth${path}`, headers, body });
    const { result, lines } = await captureLogs(() => handler(event, createLambdaContext()));
    const errors = lines.filter(({ level }) => level === "ERROR");
    assert(!JSON.stringify(errors).includes(ADA));
    const { requestId: _, ...answer } = JSON.parse(result.body);
    return { answer: [result.statusCode, answer], errors: errors.length };
  };
}

function fail(): never {
  throw new Error("the mail provider is down");
}

const FAILING: Record<string, () => Promise<void>> = {
  throws: fail,
  "rejects its promise": () => Promise.reject(new Error("the mail provider is down")),
};

for (const [how, send] of Object.entries(FAILING)) {
  for (
    const [path, config] of [
      ["/request-password-reset", { emailAndPassword: { enabled: true, sendResetPassword: send } }],
      ["/send-verification-email", { emailVerification: { sendVerificationEmail: send } }],
    ] satisfies [string, Partial<AuthConfig>][]
  ) {
    Deno.test(`${path} answers alike for known and unknown addresses when the mail function ${how}`, async () => {
      const auth = createAuth(db, { secret: SECRET, baseURL: "http://localhost:3000", ...config });
      await auth.api.signUpEmail({ body: { name: "x", email: ADA, password: "a long password" } });
      const handler = createAuthHandler(() => auth);
      async function ask(email: string) {
        const event = createHttpApiEvent({
          method: "POST",
          path: `/api/auth${path}`,
          body: { email },
        });
        const { result, lines } = await captureLogs(() => handler(event, createLambdaContext()));
        return {
          answer: [result.statusCode, result.body],
          errors: lines.filter(({ level }) => level === "ERROR"),
        };
      }
      const known = await ask(ADA), unknown = await ask("nobody@example.com");
      assertEquals(known.answer, unknown.answer);
      assertEquals(known.answer[0], 200);
      assertEquals([known.errors.length, unknown.errors.length], [1, 0]);
      assert(JSON.stringify(known.errors).includes("the mail provider is down"));
      assert(!JSON.stringify(known.errors).includes(ADA));
    });
  }
}

for (const [how, send] of Object.entries(FAILING)) {
  Deno.test(`/change-email answers alike for free and taken addresses when the mail function ${how}`, async () => {
    const auth = createAuth(db, {
      secret: SECRET,
      baseURL: "http://localhost:3000",
      emailVerification: { sendVerificationEmail: () => Promise.resolve() },
      user: { changeEmail: { enabled: true, sendChangeEmailConfirmation: send } },
    });
    const signUp = (email: string) =>
      auth.api.signUpEmail({ body: { name: "x", email, password: "a long password" } });
    const { token } = await signUp(ADA);
    await signUp("bob@example.com");
    // better-auth asks the present address only if it is verified
    await pglite.exec("update users set email_verified = true");
    const ask = createAsk(auth, { authorization: `Bearer ${token}` });
    const free = await ask("/change-email", { newEmail: "new@example.com" });
    const taken = await ask("/change-email", { newEmail: "bob@example.com" });
    assertEquals(free.answer, taken.answer);
    assertEquals([free.answer[0], free.errors, taken.errors], [200, 1, 0]);
  });

  Deno.test(`/phone-number/request-password-reset answers alike for known and unknown numbers when the function ${how}`, async () => {
    const auth = createPhoneAuth(send);
    await auth.api.signUpEmail({ body: { name: "x", email: ADA, password: "a long password" } });
    await pglite.exec("update phone_users set phone_number = '+491'");
    const ask = createAsk(auth);
    const known = await ask("/phone-number/request-password-reset", { phoneNumber: "+491" });
    const unknown = await ask("/phone-number/request-password-reset", { phoneNumber: "+492" });
    assertEquals(known.answer, unknown.answer);
    assertEquals([known.answer[0], known.errors, unknown.errors], [200, 1, 0]);
  });

  Deno.test(`/phone-number/send-otp fails alike for known and unknown numbers when the function ${how}`, async () => {
    const auth = createPhoneAuth(send);
    await auth.api.signUpEmail({ body: { name: "x", email: ADA, password: "a long password" } });
    await pglite.exec("update phone_users set phone_number = '+491'");
    const ask = createAsk(auth);
    const known = await ask("/phone-number/send-otp", { phoneNumber: "+491" });
    const unknown = await ask("/phone-number/send-otp", { phoneNumber: "+492" });
    assertEquals([known.answer, known.errors], [unknown.answer, unknown.errors]);
    assertEquals(known.answer[0], 500);
    assert(!JSON.stringify(known.answer).includes("the mail provider is down"));
  });
}
