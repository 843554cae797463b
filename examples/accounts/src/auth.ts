import { defineAuth } from "@trellis/fn/auth";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import { authSchema } from "./auth_schema.ts";
import { getDb } from "./database.ts";
import { webOrigin } from "./web_origin.ts";

const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");
/** The user with this address becomes an administrator. */
const adminEmail = getOptionalEnv("ADMIN_EMAIL", "admin@example.com");

export const { session, getAuth } = defineAuth(getDb, {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL,
  trustedOrigins: [webOrigin],
  // secure cookies need https, which localhost does not have
  useSecureCookies: baseURL.startsWith("https://"),
  schema: authSchema,
  // the events are on the local page of trellis dev
  audit: true,
  // resets, verifications and changes of address; functions that only check sessions do not load it
  mail: async () => (await import("./mails.ts")).mails,
  emailAndPassword: { enabled: true, requireEmailVerification: true },
  emailVerification: { sendOnSignUp: true, autoSignInAfterVerification: true },
  user: {
    changeEmail: { enabled: true },
    deleteUser: {
      enabled: true,
      async sendDeleteAccountVerification(mail) {
        const { mails } = await import("./mails.ts");
        await mails.sendDeleteAccountVerification(mail);
      },
    },
  },
  databaseHooks: {
    user: {
      create: {
        before: (user) =>
          Promise.resolve({
            data: { ...user, role: user.email === adminEmail ? "admin" : "user" },
          }),
      },
    },
  },
  plugins: async () => (await import("./auth_plugins.ts")).loadPlugins(),
});
