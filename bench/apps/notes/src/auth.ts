import { type AuthConfig, configureSessionAuth } from "@trellis/fn/auth";
import { getRequiredEnv } from "@trellis/fn/env";
import { getDb } from "./database.ts";

const authConfig: AuthConfig = {
  secret: getRequiredEnv("AUTH_SECRET"),
  baseURL: getRequiredEnv("AUTH_BASE_URL"),
};

configureSessionAuth(getDb, authConfig);
