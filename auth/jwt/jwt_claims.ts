import type { JwtClaims, JwtIdentity } from "../../core/http/auth_registry.ts";
import { type RefusalReason, refuseCredential } from "../../core/http/refuse_credential.ts";
import type { UnauthorizedError } from "../../errors/http_errors.ts";
import { validateSchemaAsync } from "../../validation/schema.ts";
import type { JwtClaimOptions } from "./jwt_options.ts";

/** Uses one message for every reason. The log has the reason. */
export function invalidToken(reason: RefusalReason): UnauthorizedError {
  return refuseCredential(reason, "The token is not valid", {
    "WWW-Authenticate": 'Bearer error="invalid_token"',
  });
}

/**
 * Returns the identity in the claims of a verified token.
 *
 * @param payload The claims.
 * @param options The claim of the user's id and the schema of the claims.
 * @returns The identity.
 * @throws {UnauthorizedError} If the user's id is missing, or the claims do not match the schema.
 */
export async function readIdentity<TClaims>(
  payload: Readonly<Record<string, unknown>>,
  { userIdClaim = "sub", claims: schema }: JwtClaimOptions<TClaims>,
): Promise<JwtIdentity<TClaims>> {
  const userId = Object.hasOwn(payload, userIdClaim) ? payload[userIdClaim] : undefined;
  if (typeof userId !== "string" || userId === "") {
    throw invalidToken(`claim ${userIdClaim}`);
  }
  if (schema === undefined) return { userId, claims: payload as JwtClaims as TClaims };
  const result = await validateSchemaAsync(schema, payload);
  if (!result.success) {
    // the names of fields do not contain the values
    throw invalidToken(`claim ${Object.keys(result.errors ?? {}).join(", ")}`);
  }
  return { userId, claims: result.data as TClaims };
}
