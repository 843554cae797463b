import { defineAuth } from "@trellis/fn/auth";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import { getDb } from "./database.ts";

/** Secure cookies need https, which localhost does not have. */
const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");

export const { session, getAuth } = defineAuth(getDb, {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL,
  useSecureCookies: baseURL.startsWith("https://"),
  databaseHooks: {
    user: {
      create: {
        async after({ id, name, email }) {
          // loaded only where users are created: functions that check sessions are 250 kB smaller
          const { welcomeMail } = await import("./mails.ts");
          await welcomeMail.send(await getDb(), { to: email, data: { name }, key: id });
        },
      },
    },
  },
});
