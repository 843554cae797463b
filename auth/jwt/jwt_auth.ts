import type { JWTVerifyOptions } from "jose";
import { getHeader } from "../../core/http/api_event.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import type { JwtClaims, JwtIdentity } from "../../core/http/auth_registry.ts";
import { requireBearerToken } from "../../core/http/bearer_token.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import type { RefusalReason } from "../../core/http/refuse_credential.ts";
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
    const token = requireBearerToken(getHeader(event, "Authorization", "authorization"));
    if (token.length > MAX_TOKEN_LENGTH) throw invalidToken("malformed");
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
    const reason = findReason(error);
    throw reason === undefined ? keysUnavailable(error) : invalidToken(reason);
  }
}

/** The codes of jose that are about the token. All others are about the keys. */
const REASONS: Readonly<Record<string, RefusalReason>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: "wrong algorithm",
  ERR_JOSE_NOT_SUPPORTED: "malformed",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "unknown signing key",
  ERR_JWKS_NO_MATCHING_KEY: "unknown signing key",
  ERR_JWS_INVALID: "malformed",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "bad signature",
  ERR_JWT_EXPIRED: "expired",
  ERR_JWT_INVALID: "malformed",
};

function findReason(error: unknown): RefusalReason | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, claim } = error as { code?: unknown; claim?: unknown };
  if (code === "ERR_JWT_CLAIM_VALIDATION_FAILED") return `claim ${claim}`;
  return typeof code === "string" && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
}
