import { describeError, type ErrorDescription } from "../../observability/describe_error.ts";
import { redactValue } from "../../observability/redact.ts";
import { REDACTED } from "../../observability/redacted.ts";

/** Shorter ones are no secrets worth the name, and would blot out words. */
const MIN_LENGTH = 8;

/**
 * The credentials among named values: of those whose names say so, the whole and its parts (the token of
 * `Bearer <token>`, the session of a cookie).
 *
 * @param named Names and values of headers or query parameters.
 */
export function credentialsAmong(named: Readonly<Record<string, string | undefined>>): string[] {
  const safe = redactValue(named) as Record<string, unknown>;
  return Object.keys(named).filter((name) => safe[name] === REDACTED).map((name) =>
    String(named[name])
  );
}

/**
 * A copy of an error for the log: libraries put the token that they refuse into their messages.
 *
 * @param error Anything that was thrown.
 * @param credentials The secrets to remove.
 * @returns An error with the same name, code, frames and causes.
 */
export function withoutCredentials(error: unknown, credentials: readonly string[]): Error {
  const secrets = credentials.flatMap((credential) => [credential, ...credential.split(/[\s;,=]+/)])
    .filter((secret) => secret.length >= MIN_LENGTH)
    .sort((a, b) => b.length - a.length);

  function scrub(text: string): string {
    return secrets.reduce((safe, secret) => safe.replaceAll(secret, REDACTED), text);
  }

  function rebuild(
    { name, message, code, stack, details, cause, errors }: ErrorDescription,
  ): Error {
    const copy = errors === undefined
      ? new Error(scrub(message))
      : new AggregateError(errors.map(rebuild), scrub(message));
    copy.name = name;
    // frames differ from the lines of a message by their indentation
    copy.stack = stack === undefined ? undefined : scrub(stack).replace(/^/gm, "    ");
    if (cause !== undefined) copy.cause = rebuild(cause);
    const scrubbed = JSON.stringify(
      redactValue(details),
      (_key, value) => typeof value === "string" ? scrub(value) : value,
    );
    return Object.assign(copy, {
      code,
      details: scrubbed === undefined ? undefined : JSON.parse(scrubbed),
    });
  }

  return rebuild(describeError(error));
}
