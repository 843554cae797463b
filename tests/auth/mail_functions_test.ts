import { assert, assertEquals } from "@std/assert";
import { type AuthConfig, createAuth, createAuthHandler } from "../../auth/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../testing/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";

const { db, pglite, reset } = await openAuthDatabase();
Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

const ADA = "ada@example.com";

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
