import { ConfigurationError } from "../../errors/http_errors.ts";

/** Returns the error of a file or folder that cannot be read or written. */
export function createFileError(
  path: string,
  use: "read" | "written",
  cause: unknown,
): ConfigurationError {
  return new ConfigurationError(`${path} cannot be ${use}: ${(cause as Error).message}`, { cause });
}
