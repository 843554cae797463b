import type { ApiEvent } from "./lambda.ts";
import type { SessionNeeds } from "./session.ts";

/** Actions by resource, such as `{ notes: ["read", "write"] }`. */
export type ApiKeyPermissions = Readonly<Record<string, readonly string[]>>;

/** What a handler asks of an API key besides its validity. */
export interface ApiKeyNeeds {
  /** Permissions that the API key must have. */
  readonly permissions?: ApiKeyPermissions;
}

/** What a handler asks of its callers besides a valid credential. */
export interface AuthNeeds extends SessionNeeds, ApiKeyNeeds {}

/** Name of a way in which a handler identifies its callers. */
export type AuthMethodMode =
  | "api-key"
  | "authorizer"
  | "authorizer-optional"
  | "bearer"
  | "gateway-jwt"
  | "jwt"
  | "none"
  | "session"
  | "ticket";

/**
 * A check of callers that carries its implementation and its settings: the value of a handler's option `auth`, such as
 * the result of `session()` of `defineAuth`, of `createJwtAuth` or of `createConnectionTickets`. It describes itself,
 * so that grants, infrastructure and documents can be generated from it.
 */
export interface AuthMethod<TIdentity extends object = object> {
  /** Name of the mode, and of the security scheme in the OpenAPI document. */
  readonly mode: AuthMethodMode;
  /**
   * What it asks of callers besides a valid credential.
   * @default {}
   */
  readonly needs?: AuthNeeds;
  /**
   * Returns what the handler receives about the caller. Throws `UnauthorizedError` if the credential is missing or not
   * valid, and an error with the status 403 if the caller lacks what `needs` asks for.
   *
   * @param event The request.
   * @param setCookie Adds a `Set-Cookie` header to the response, such as that of a renewed session.
   */
  readonly authenticate: (
    event: ApiEvent,
    setCookie?: (cookie: string) => void,
  ) => TIdentity | Promise<TIdentity>;
  /** Headers in which API keys are sent, with the mode `api-key`. */
  readonly apiKeyHeaders?: readonly string[];
  /**
   * Checks whether pages of an origin may send cookies; `null` if none may.
   * @default the trusted origins of `configureSessionAuth`
   */
  readonly isTrustedOrigin?: ((event: ApiEvent, origin: string) => boolean) | null;
}

/** Checks whether a value is an {@link AuthMethod}. */
export function isAuthMethod(value: unknown): value is AuthMethod {
  const { mode, authenticate } = Object(value) as Partial<AuthMethod>;
  return typeof mode === "string" && typeof authenticate === "function";
}
