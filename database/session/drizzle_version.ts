import { npmVersion } from "drizzle-orm/version";
import { ConfigurationError } from "../../errors/http_errors.ts";

/** True if drizzle 1.0 is installed, whose classes and names differ from those of 0.45. */
export const isDrizzleOne: boolean = npmVersion.startsWith("1.");

/**
 * Refuses a version of drizzle whose classes this package does not know.
 *
 * @param what What needs drizzle, for the message.
 * @throws {ConfigurationError} If another version than 0.45 or 1.0 is installed.
 */
export function assertDrizzleVersion(what: string): void {
  if (isDrizzleOne || npmVersion.startsWith("0.45.")) return;
  throw new ConfigurationError(
    `${what} needs drizzle-orm ^0.45.4 or ^1.0.0-rc, but ${npmVersion} is installed: ` +
      "npm install drizzle-orm@^0.45.4",
  );
}
