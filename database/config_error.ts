import { ConfigurationError } from "../errors/http_errors.ts";

/** Throws an error whose message begins with `DatabaseConfig`. */
export function refuseConfig(message: string): never {
  throw new ConfigurationError(`DatabaseConfig${message}`);
}

/** Shows a value in a message. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 100));
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
