import { npmVersion } from "drizzle-orm/version";
import { ConfigurationError } from "../../errors/http_errors.ts";

/**
 * Refuses a version of drizzle whose classes this package does not know. drizzle 1.0 has other classes
 * of clients, sessions, arrays and relations.
 *
 * @param what What needs drizzle, for the message.
 * @throws {ConfigurationError} If another version is installed.
 */
export function assertDrizzleVersion(what: string): void {
  if (npmVersion.startsWith("0.45.")) return;
  throw new ConfigurationError(
    `${what} needs drizzle-orm ^0.45.4, but ${npmVersion} is installed: npm install drizzle-orm@^0.45.4`,
  );
}
