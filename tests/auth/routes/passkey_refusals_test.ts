import { assertEquals, assertStringIncludes } from "@std/assert";
import { passkey } from "@better-auth/passkey";
import { drizzle } from "drizzle-orm/pglite";
import { captureLogs } from "../../support/capture_logs.ts";
import { openAuthDatabase } from "../auth_database.ts";
import { generateSchema } from "../plugins/generated_schema.ts";
import { BASE_URL, newEmail, openBrowser } from "../plugins/plugin_lab.ts";
import { createSoftwareAuthenticator } from "../plugins/software_authenticator.ts";

interface Registration {
  rawId: string;
  readonly response: { attestationObject: string; clientDataJSON: string };
}

Deno.test("createAuthHandler() answers 403 to a passkey of another origin, 400 to a malformed one, 500 if it cannot be stored", async () => {
  const { pglite } = await openAuthDatabase();
  try {
    await pglite.exec("DROP TABLE users, sessions, accounts, verification");
    const plugins = [passkey({ rpID: "localhost", origin: BASE_URL })];
    const { authSchema, statements } = await generateSchema({ plugins });
    await pglite.exec(statements.join("\n"));
    const lab = {
      db: drizzle(pglite, { schema: authSchema }),
      authSchema,
      query: async (sql: string) => (await pglite.query<Record<string, unknown>>(sql)).rows,
    };

    for (const given of [plugins, [passkey({ rpID: "localhost" })]]) {
      const browser = openBrowser(lab, { plugins: given, rateLimit: { enabled: false } });
      await browser.signUp(newEmail("passkey"));
      const register = async (
        change: (response: Registration) => void = () => {},
        origin = BASE_URL,
      ) => {
        const { body } = await browser.get("/passkey/generate-register-options");
        const response = createSoftwareAuthenticator(origin).register(body) as Registration;
        change(response);
        const { result, lines } = await captureLogs(() =>
          browser.post("/passkey/verify-registration", { response }, { origin: BASE_URL })
        );
        return [result.status, result.body.code, JSON.stringify(lines)];
      };
      const foreign = await register(() => {}, "https://evil.example");
      assertEquals(foreign.slice(0, 2), [403, "INVALID_ORIGIN"]);
      assertStringIncludes(String(foreign[2]), "https://evil.example");

      const failed = "FAILED_TO_VERIFY_REGISTRATION";
      const malformed = await register(({ response }) => response.attestationObject = "AAAA");
      assertEquals(malformed.slice(0, 2), [400, failed]);
      assertEquals((await register((all) => all.rawId = "other")).slice(0, 2), [400, failed]);
      const text = await register(({ response }) => response.clientDataJSON = "AAAA");
      assertEquals(text.slice(0, 2), [403, "INVALID_ORIGIN"]);

      await pglite.exec("ALTER TABLE passkeys ADD CONSTRAINT none CHECK (false) NOT VALID");
      assertEquals((await register()).slice(0, 2), [500, failed]);
      await pglite.exec("ALTER TABLE passkeys DROP CONSTRAINT none");
      assertEquals((await register())[0], 200);
    }

    // an error of the application's own function is none of the client
    const registration = {
      afterVerification(): never {
        throw new Error("of the application");
      },
    };
    const browser = openBrowser(lab, { plugins: [passkey({ rpID: "localhost", registration })] });
    await browser.signUp(newEmail("passkey"));
    const { body } = await browser.get("/passkey/generate-register-options");
    const response = createSoftwareAuthenticator(BASE_URL).register(body);
    const { result } = await captureLogs(() =>
      browser.post("/passkey/verify-registration", { response }, { origin: BASE_URL })
    );
    assertEquals(result.status, 500);
  } finally {
    await pglite.close();
  }
});
