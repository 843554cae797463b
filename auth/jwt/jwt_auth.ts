import type { JWTVerifyOptions } from "jose";
import { getHeader } from "../../core/http/api_event.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import type { JwtClaims, JwtIdentity } from "../../core/http/auth_registry.ts";
import { extractBearerToken } from "../../core/http/bearer_token.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { UnauthorizedError } from "../../errors/http_errors.ts";
import { invalidToken, readIdentity } from "./jwt_claims.ts";
import { createKeyLoader, type JwtKeys, keysUnavailable } from "./jwt_keys.ts";
import { checkJwtOptions, JWT_ALGORITHMS, type JwtAuthOptions } from "./jwt_options.ts";

/**
 * Creates a check of bearer tokens of an issuer, verified with its public keys. It loads nothing before the first
 * request. The schema in `claims` gives the handler's `claims` their type.
 *
 * @param options Issuer, audience and limits.
 * @returns The value of the handler's option `auth`.
 * @throws {ConfigurationError} If an option is missing or invalid.
 *
 * @example
 * ```ts
 * import { createJwtAuth } from "@trellis/fn/auth/jwt";
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { defineApiHandler } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const tokens = createJwtAuth({
 *   issuer: "https://login.example.com/",
 *   audience: "https://api.example.com",
 *   claims: z.object({ scope: z.string() }),
 * });
 * const handler = defineApiHandler({ auth: tokens })(function getScope({ context, claims }) {
 *   return buildValidatedResponse(context, 200, { scopes: claims.scope.split(" ") });
 * });
 * console.log(handler.operation.auth); // jwt
 * ```
 */
export function createJwtAuth<TClaims = JwtClaims>(
  options: JwtAuthOptions<TClaims>,
): AuthMethod<JwtIdentity<TClaims>> {
  checkJwtOptions("createJwtAuth", options);
  return { mode: "jwt", authenticate: createJwtCheck(options) };
}

/** Limit of the header at API Gateway; a longer token is no token. */
const MAX_TOKEN_LENGTH = 10_240;

/** Creates the check of {@link createJwtAuth} from checked options. */
export function createJwtCheck<TClaims>(
  options: JwtAuthOptions<TClaims>,
): (event: ApiEvent) => Promise<JwtIdentity<TClaims>> {
  const loadKeys = createKeyLoader(options);
  const rules = getVerifyOptions(options);
  return async function authenticateJwt(event) {
    const token = extractBearerToken(getHeader(event, "Authorization", "authorization"));
    if (token === null) {
      throw new UnauthorizedError("The Authorization header must be: Bearer <token>");
    }
    if (token.length > MAX_TOKEN_LENGTH) throw invalidToken("it is too long");
    return await readIdentity(await verify(token, await loadKeys(), rules), options);
  };
}

function getVerifyOptions(options: JwtAuthOptions<unknown>): JWTVerifyOptions {
  const { issuer, audience, algorithms = JWT_ALGORITHMS, requiredClaims = [] } = options;
  return {
    issuer,
    audience: [audience].flat(),
    algorithms: [...algorithms],
    clockTolerance: options.clockToleranceSeconds ?? 0,
    maxTokenAge: options.maxTokenAgeSeconds,
    typ: options.typ,
    // jose accepts tokens without an expiry time
    requiredClaims: ["exp", ...requiredClaims],
  };
}

async function verify(
  token: string,
  { jose, getKey }: JwtKeys,
  rules: JWTVerifyOptions,
): Promise<Record<string, unknown>> {
  try {
    return (await jose.jwtVerify(token, getKey, rules)).payload;
  } catch (error) {
    if (isRefusal(error)) throw invalidToken((error as { code: string }).code);
    throw keysUnavailable(error);
  }
}

/** The codes of jose that are about the token. All others are about the keys. */
const REFUSALS: readonly unknown[] = [
  "ERR_JOSE_ALG_NOT_ALLOWED",
  "ERR_JOSE_NOT_SUPPORTED",
  "ERR_JWKS_MULTIPLE_MATCHING_KEYS",
  "ERR_JWKS_NO_MATCHING_KEY",
  "ERR_JWS_INVALID",
  "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
  "ERR_JWT_CLAIM_VALIDATION_FAILED",
  "ERR_JWT_EXPIRED",
  "ERR_JWT_INVALID",
];

function isRefusal(error: unknown): boolean {
  return error instanceof Error && REFUSALS.includes((error as { code?: unknown }).code);
}
