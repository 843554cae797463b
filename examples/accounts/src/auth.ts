import { type AuthConfig, configureSessionAuth } from "@trellis/fn/auth";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import { authSchema } from "./auth_schema.ts";
import { loadPlugins } from "./auth_plugins.ts";
import { getDb } from "./database.ts";
import { mails, webOrigin } from "./mails.ts";

const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");
/** The user with this address becomes an administrator. */
const adminEmail = getOptionalEnv("ADMIN_EMAIL", "admin@example.com");

export const authConfig: AuthConfig = {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL,
  trustedOrigins: [webOrigin],
  // secure cookies need https, which localhost does not have
  useSecureCookies: baseURL.startsWith("https://"),
  schema: authSchema,
  // the events are on the local page of trellis dev
  audit: true,
  // resets, verifications and changes of address
  mail: mails,
  emailAndPassword: { enabled: true, requireEmailVerification: true },
  emailVerification: { sendOnSignUp: true, autoSignInAfterVerification: true },
  user: {
    changeEmail: { enabled: true },
    deleteUser: {
      enabled: true,
      sendDeleteAccountVerification: mails.sendDeleteAccountVerification,
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
  plugins: loadPlugins,
};

configureSessionAuth(getDb, authConfig);
