/**
 * JSON Web Tokens of any issuer for handlers, as `jwt()` of `defineAuth`, without its configuration. Needs the
 * package jose, which is loaded on the first request.
 *
 * @example
 * ```ts
 * import { createJwtAuth } from "@trellis/fn/auth/jwt";
 *
 * const auth = createJwtAuth({ issuer: "https://login.example.com/", audience: "https://api.example.com" });
 * ```
 *
 * @module
 */
export type { JwtClaims, JwtIdentity } from "../../core/http/auth_registry.ts";
export type { AuthMethod } from "../../core/http/auth_method.ts";
export { createGatewayJwtAuth, type GatewayJwtOptions } from "./gateway_jwt.ts";
export { createJwtAuth } from "./jwt_auth.ts";
export {
  JWT_ALGORITHMS,
  type JwtAlgorithm,
  type JwtAuthOptions,
  type JwtClaimOptions,
} from "./jwt_options.ts";
