import type { ConnectionTickets } from "../../realtime/connection_tickets.ts";
import type { AuthMethod, AuthMode } from "../../validation/authenticate.ts";

/** The mode of a handler, by name or by a function of {@link AUTH_METHODS}. */
export type SourceAuthMode = AuthMode | AuthMethod["mode"];

/** Functions of the package whose result is the option `auth` of a handler, with the mode. */
export const AUTH_METHODS: Readonly<
  Record<string, SourceAuthMode | ConnectionTickets["mode"]>
> = {
  createConnectionTickets: "ticket",
  createGatewayJwtAuth: "gateway-jwt",
  createJwtAuth: "jwt",
};

const MODES: readonly unknown[] = [
  "none",
  "bearer",
  "authorizer",
  "authorizer-optional",
  "session",
  "api-key",
  "jwt",
  "gateway-jwt",
  "ticket",
] satisfies (SourceAuthMode | ConnectionTickets["mode"])[];

/**
 * Describes an invalid value of the option `auth`.
 *
 * @returns The message, or `undefined` if the value is valid.
 */
export function describeInvalidAuth(value: unknown): string | undefined {
  if (MODES.includes(value)) return undefined;
  return `auth must be one of ${MODES.join(", ")}, got ${JSON.stringify(value)}`;
}
