import { getAuthorizer } from "../../core/http/api_event.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import type { JwtClaims, JwtIdentity } from "../../core/http/auth_registry.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { refuseCredential } from "../../core/http/refuse_credential.ts";
import { checkOptions } from "../../core/option_rules.ts";
import { findClaims } from "../../validation/authenticate.ts";
import { invalidToken, readIdentity } from "./jwt_claims.ts";
import { CLAIM_RULES, type JwtClaimOptions, requireClaimOptions } from "./jwt_options.ts";

/** Options of {@link createGatewayJwtAuth}. */
export interface GatewayJwtOptions<TClaims = JwtClaims> extends JwtClaimOptions<TClaims> {
  /**
   * Claim to compare with `audience`. Access tokens of Cognito have `client_id` in place of `aud`.
   * @default "aud"
   */
  audienceClaim?: "aud" | "client_id";
}

const RULES = {
  ...CLAIM_RULES,
  audienceClaim: [
    (value: unknown) => value === "aud" || value === "client_id",
    '"aud" or "client_id"',
  ] as const,
};

/**
 * Creates a check for handlers behind an HTTP API's JWT authorizer or a REST API's Cognito
 * authorizer, which verified the token already. The claims come from the event, so no key is
 * loaded. Issuer, audience and expiry time are compared again: a route with another authorizer is
 * refused. An HTTP API passes all claims as strings.
 *
 * @param options Issuer and audience as the authorizer has them.
 * @returns The value of the handler's option `auth`.
 * @throws {ConfigurationError} If an option is missing or invalid.
 *
 * @example
 * ```ts
 * import { createGatewayJwtAuth } from "@trellis/fn/auth/jwt";
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const tokens = createGatewayJwtAuth({ issuer: "https://login.example.com/", audience: "notes" });
 * const handler = defineApiHandler({ auth: tokens })(function getMe({ context, userId }) {
 *   return buildValidatedResponse(context, 200, { userId });
 * });
 * console.log(handler.operation.auth); // gateway-jwt
 * ```
 */
export function createGatewayJwtAuth<TClaims = JwtClaims>(
  options: GatewayJwtOptions<TClaims>,
): AuthMethod<JwtIdentity<TClaims>> {
  checkOptions("createGatewayJwtAuth", options, RULES);
  requireClaimOptions("createGatewayJwtAuth", options);
  const { issuer, audience, audienceClaim = "aud" } = options;
  const audiences = [audience].flat();
  return {
    mode: "gateway-jwt",
    async authenticate(event: ApiEvent): Promise<JwtIdentity<TClaims>> {
      const claims = findClaims(getAuthorizer(event) ?? {});
      if (claims === undefined) {
        const message = "The gateway has checked no token for this request";
        throw refuseCredential("no credential", message);
      }
      if (claims.iss !== issuer) throw invalidToken("claim iss");
      if (!listValues(claims[audienceClaim]).some((one) => audiences.includes(one))) {
        throw invalidToken(`claim ${audienceClaim}`);
      }
      if (!(readTime(claims.exp) > Date.now())) throw invalidToken("expired");
      return await readIdentity(claims, options);
    },
  };
}

/** Returns the values of a claim. An HTTP API writes a list as `[a b]`. */
function listValues(claim: unknown): string[] {
  if (Array.isArray(claim)) return claim.map(String);
  if (typeof claim !== "string") return [];
  return claim.startsWith("[") && claim.endsWith("]") ? claim.slice(1, -1).split(" ") : [claim];
}

/**
 * Returns the time of a claim in milliseconds since 1970; NaN if there is none. A REST API writes
 * times as `Mon Jun 15 05:56:21 UTC 2026`.
 */
function readTime(claim: unknown): number {
  const [weekday, month, day, time, zone, year] = String(claim).split(" ");
  if (zone !== "UTC") return Number(claim) * 1000;
  return Date.parse(`${weekday}, ${day.padStart(2, "0")} ${month} ${year} ${time} GMT`);
}
