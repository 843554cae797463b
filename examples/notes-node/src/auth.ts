import { defineAuth } from "@trellis/fn/auth";
import { getOptionalEnv } from "@trellis/fn/env";
import { getDb } from "./database.ts";

const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");

export const { session, getAuth } = defineAuth(getDb, {
  secret: getOptionalEnv("AUTH_SECRET", "for a laptop only, and not for production"),
  baseURL,
  // secure cookies need https, which localhost does not have
  useSecureCookies: baseURL.startsWith("https://"),
});
