import { getHeader } from "../core/http/api_event.ts";
import { extractBearerToken } from "../core/http/bearer_token.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { timingSafeEqual } from "../core/http/timing_safe_equal.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { ConfigurationError, UnauthorizedError } from "../errors/http_errors.ts";

/**
 * Compares the request's bearer token with those of the environment variable `API_BEARER_TOKEN`.
 *
 * @throws {UnauthorizedError} When the token is missing, malformed or none of them.
 * @throws {ConfigurationError} When the variable is not set, or has a value that no request can
 * match.
 */
export function checkBearerToken(event: ApiEvent): void {
  const expected = readExpectedTokens();
  const header = getHeader(event, "Authorization", "authorization");
  if (header === undefined) throw new UnauthorizedError("The Authorization header is missing");
  const token = extractBearerToken(header);
  if (token === null) {
    throw new UnauthorizedError("The Authorization header is not of the form 'Bearer <token>'");
  }
  let matches = false;
  for (const each of expected) matches = timingSafeEqual(token, each) || matches;
  if (!matches) throw new UnauthorizedError("The bearer token is not valid");
}

function readExpectedTokens(): readonly string[] {
  const text = getOptionalEnv("API_BEARER_TOKEN");
  if (text === undefined) {
    throw new ConfigurationError(
      "A handler has auth 'bearer' but the environment variable API_BEARER_TOKEN is not set: set it to a long random value",
    );
  }
  // no token has a comma (RFC 6750, section 2.1)
  const tokens = text.split(",").map((token) => token.trim());
  const position = tokens.findIndex((token) => extractBearerToken(`Bearer ${token}`) !== token) + 1;
  if (position === 0) return tokens;
  throw new ConfigurationError(
    `No request can match value ${position} of ${tokens.length} in the environment variable API_BEARER_TOKEN: it must be ` +
      "letters, digits and -._~+/ with = at the end only; several values are separated by commas",
  );
}
