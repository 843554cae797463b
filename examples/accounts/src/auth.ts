import { type AuthConfig, configureSessionAuth } from "@trellis/fn/auth";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import { authSchema } from "./auth_schema.ts";
import { loadPlugins } from "./auth_plugins.ts";
import { getDb } from "./database.ts";
import { sendMail } from "./mail.ts";

const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");
/** The web page is on another origin, so it must be trusted. */
const webOrigin = getOptionalEnv("WEB_ORIGIN", "http://localhost:3000");
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
  emailAndPassword: {
    enabled: true,
    requireEmailVerification: true,
    sendResetPassword: ({ user, url }) =>
      sendMail({ to: user.email, subject: "Reset your password", text: `New password: ${url}` }),
  },
  emailVerification: {
    sendOnSignUp: true,
    autoSignInAfterVerification: true,
    sendVerificationEmail: ({ user, url }) =>
      sendMail({ to: user.email, subject: "Verify your address", text: `Verify: ${url}` }),
  },
  user: {
    changeEmail: {
      enabled: true,
      sendChangeEmailConfirmation: ({ user, newEmail, url }) =>
        sendMail({
          to: user.email,
          subject: "Confirm your new address",
          text: `Change your address to ${newEmail}: ${url}`,
        }),
    },
    deleteUser: {
      enabled: true,
      sendDeleteAccountVerification: ({ user, url }) =>
        sendMail({ to: user.email, subject: "Delete your account", text: `Delete: ${url}` }),
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
  plugins: () => loadPlugins(webOrigin),
};

configureSessionAuth(getDb, authConfig);
