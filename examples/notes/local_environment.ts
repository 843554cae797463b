import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const SECRETS = [
  "AUTH_SECRET",
  "API_BEARER_TOKEN",
  "CODE_HOST_WEBHOOK_SECRET",
  "PAYMENTS_WEBHOOK_SECRET",
] as const;

/**
 * Sets missing environment variables of the functions: the database folder, and secrets that are
 * generated at the first start and stored beside it, so that sessions survive a restart.
 *
 * @param dataFolder Folder for the database and the secrets. It is created.
 * @param port Port of the application.
 */
export function setLocalEnvironment(dataFolder: string, port: number): void {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const file = join(dataFolder, "secrets.json");
  if (!existsSync(file)) {
    const made = Object.fromEntries(SECRETS.map((name) => [name, randomBytes(32).toString("hex")]));
    writeFileSync(file, JSON.stringify(made, null, 2), { mode: 0o600 });
  }
  const defaults: Record<string, string> = {
    ...JSON.parse(readFileSync(file, "utf8")),
    DATABASE_URL: join(dataFolder, "pg"),
    AUTH_BASE_URL: `http://127.0.0.1:${port}/auth`,
    MAIL_FOLDER: join(dataFolder, "mail"),
    SERVICE_NAME: "notes",
    METRICS_DISABLED: "true",
  };
  for (const [name, value] of Object.entries(defaults)) process.env[name] ||= value;
}
