import { defineAuth } from "../../../../auth/mod.ts";
import { AUTH_SCHEMA_MAPPING } from "../../../../auth/tables/schema.ts";
import { getRequiredEnv } from "../../../../env/mod.ts";
import { apikey } from "../../../auth/api_keys_database.ts";
import { getDb } from "./database.ts";

export const { session, apiKey, jwt, getAuth } = defineAuth(getDb, {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL: "http://localhost/auth",
  schema: { ...AUTH_SCHEMA_MAPPING, apikey },
  emailAndPassword: { enabled: true },
  plugins: async () => {
    const { apiKey } = await import("@better-auth/api-key");
    return [apiKey()];
  },
});
