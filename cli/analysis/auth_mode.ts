import type { AuthMethodMode } from "../../core/http/auth_method.ts";
import { ts } from "./typescript.ts";
import type { ScopedExpression, Value } from "./values.ts";

/** Functions of the package whose result is the option `auth` of a handler, with the mode. */
export const AUTH_METHODS: Readonly<Record<string, AuthMethodMode>> = {
  createConnectionTickets: "ticket",
  createGatewayJwtAuth: "gateway-jwt",
  createJwtAuth: "jwt",
};

/** The functions of `defineAuth`, with the mode of their values. */
export const DEFINED_METHODS: Readonly<Record<string, AuthMethodMode>> = {
  apiKey: "api-key",
  jwt: "jwt",
  session: "session",
};

/** The arguments of values of `defineAuth`, by the literals that stand for the values. */
const givenOptions: WeakMap<ts.Node, ScopedExpression | undefined> = new WeakMap();

/**
 * Creates the literal that stands for a value such as `session({ roles })`.
 *
 * @param mode The mode, which is the text of the literal.
 * @param options The argument.
 */
export function createAuthValue(mode: string, options: ScopedExpression | undefined): Value {
  const node = ts.factory.createStringLiteral(mode);
  givenOptions.set(node, options);
  return { kind: "expression", node };
}

/**
 * Returns the argument of a value of `defineAuth`; `undefined` for other values of the option `auth`.
 */
export function getAuthOptions(
  value: Value,
): { readonly given: ScopedExpression | undefined } | undefined {
  return value.kind === "expression" && givenOptions.has(value.node)
    ? { given: givenOptions.get(value.node) }
    : undefined;
}

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
] satisfies AuthMethodMode[];

/**
 * Describes an invalid value of the option `auth`.
 *
 * @returns The message, or `undefined` if the value is valid.
 */
export function describeInvalidAuth(value: unknown): string | undefined {
  if (MODES.includes(value)) return undefined;
  return `auth must be one of ${MODES.join(", ")}, got ${JSON.stringify(value)}`;
}
