import { defineAuth } from "@trellis/fn/auth";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import { authSchema } from "./auth_schema.ts";
import { getDb } from "./database.ts";

const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");
const isDeployed = baseURL.startsWith("https://");

export const { session, getAuth } = defineAuth(getDb, {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL,
  // the page is on another origin than the API
  trustedOrigins: [getOptionalEnv("WEB_ORIGIN", "http://localhost:3000")],
  // secure cookies need https, which localhost does not have
  useSecureCookies: isDeployed,
  schema: authSchema,
  // input: false keeps clients from choosing their role
  user: { additionalFields: { role: { type: "string", input: false, defaultValue: "guest" } } },
  // only on your machine: anybody can sign up with an address that is not verified
  ...!isDeployed && {
    databaseHooks: {
      user: {
        create: {
          before: (user) =>
            Promise.resolve({
              data: { ...user, role: user.email === "admin@example.com" ? "admin" : "guest" },
            }),
        },
      },
    },
  },
});
