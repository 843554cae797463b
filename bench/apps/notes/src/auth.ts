import { defineAuth } from "@trellis/fn/auth";
import { getRequiredEnv } from "@trellis/fn/env";
import { getDb } from "./database.ts";

export const { session, getAuth } = defineAuth(getDb, {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL: getRequiredEnv("AUTH_BASE_URL"),
});
