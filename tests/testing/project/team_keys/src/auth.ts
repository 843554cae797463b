import { authSchema } from "../../../../../examples/accounts/src/auth_schema.ts";
import { defineAuth } from "../../../../../auth/mod.ts";
import { getRequiredEnv } from "../../../../../env/mod.ts";
import { apikey } from "../../../../auth/api_keys_database.ts";
import { getDb } from "../../src/database.ts";

export const keyOptions = { references: "organization" } as const;

export const { apiKey, getAuth } = defineAuth(getDb, {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL: "http://localhost/auth",
  schema: { ...authSchema, apikey },
  plugins: async () => {
    const { apiKey } = await import("@better-auth/api-key");
    const { organization } = await import("better-auth/plugins/organization");
    return [organization(), apiKey(keyOptions)];
  },
});
