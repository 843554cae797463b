import type { StartedBetterAuth } from "./better_auth.ts";
import type { AuthSettings } from "../config/config.ts";

/** The parts of an instance that `trellis dev` shows. */
export interface LocalAuth {
  readonly settings: AuthSettings;
  readonly library: StartedBetterAuth;
}

/** Registered globally, because the functions of a project are bundled with their own copy. */
const LOCAL_AUTH = Symbol.for("@trellis/fn.auth");

/**
 * Attaches the auth instance to its function, for the page of `trellis dev`.
 *
 * @param handler The Lambda handler.
 * @param open Returns the started instance.
 * @returns The handler.
 */
export function withLocalAccess<H extends object>(handler: H, open: () => Promise<LocalAuth>): H {
  return Object.defineProperty(handler, LOCAL_AUTH, { value: open });
}

/**
 * Returns the function that opens the auth instance of a function.
 *
 * @param handler The Lambda handler.
 * @returns The function; `undefined` if `createAuthHandler` did not create the handler.
 */
export function getLocalAccess(handler: object): (() => Promise<LocalAuth>) | undefined {
  return (handler as { [LOCAL_AUTH]?: () => Promise<LocalAuth> })[LOCAL_AUTH];
}
