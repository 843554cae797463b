import { ConfigurationError } from "../../errors/http_errors.ts";

/** PostgreSQL truncates identifiers to this many bytes. */
const MAX_NAME_BYTES = 63;

/**
 * Validates the responses of a query when it is defined.
 *
 * @param answers The application's responses.
 * @throws {ConfigurationError} If a key can never occur. The message has the key and the fix.
 */
export function checkConstraintAnswers(answers: unknown): void {
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) {
    throw new ConfigurationError(
      `constraints must be an object such as { users_email_unique: { field: "email", message: "is taken" } }, got ${
        JSON.stringify(answers)
      }`,
    );
  }
  for (const [key, answer] of Object.entries(answers)) {
    checkKey(key);
    checkAnswer(key, answer);
  }
}

function checkKey(key: string): void {
  if (key === "") {
    throw new ConfigurationError("constraints has an empty name: give the name of a constraint");
  }
  const bytes = new TextEncoder().encode(key).length;
  if (bytes > MAX_NAME_BYTES) {
    throw new ConfigurationError(
      `constraints.${key} is ${bytes} bytes long: PostgreSQL cuts names to ${MAX_NAME_BYTES} ` +
        `bytes, give the name in the database`,
    );
  }
  if (/^\d[0-9A-Z]{4}$/.test(key) && !/^2[23]/.test(key)) {
    throw new ConfigurationError(
      `constraints["${key}"] is never used: only SQLSTATEs of the classes 22 (values) and 23 ` +
        "(constraints) can be mapped",
    );
  }
}

function checkAnswer(key: string, answer: unknown): void {
  const { field, message, ...rest } = (answer ?? {}) as Record<string, unknown>;
  const isComplete = [field, message].every((text) => typeof text === "string" && text !== "");
  if (isComplete && Object.keys(rest).length === 0) return;
  throw new ConfigurationError(
    `constraints.${key} must be { field, message } with two strings, got ` +
      `${JSON.stringify(answer)}`,
  );
}
