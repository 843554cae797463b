import type { AuthSettings } from "./config.ts";

/** The columns of a session that show how long it lasts. */
export interface SessionTimes {
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt: Date;
  /** The administrator who impersonates the user; only with better-auth's admin plugin. */
  readonly impersonatedBy?: unknown;
}

type SessionLengths = Pick<AuthSettings, "sessionExpiresIn" | "sessionUpdateAge">;

/** better-auth reads the clock for `expiresAt` first and for `createdAt` a moment later. */
const CREATION_MS = 999;

/** The length of a session of `rememberMe: false`; better-auth does not extend it by cookie. */
const UNREMEMBERED_MS = 86_400_000;

/**
 * Returns the new end of a session that is due to be extended.
 *
 * A session of the configured length is extended as better-auth does it. One that was created
 * shorter is extended by its own length, the time from its last extension to its end. It ends at
 * the latest before `sessionExpiresIn` has passed since its creation: while it is younger than
 * that, its columns show that it was created short. Sessions of `rememberMe: false` and
 * impersonations are not extended, as with better-auth's cookies.
 *
 * @param session The session as it is stored.
 * @param settings The configured length, and how often a session is extended.
 * @param nowMs The current time.
 * @returns The new end in milliseconds since 1970, or `undefined` when the session is not to be
 * extended now.
 */
export function findExtendedEnd(
  session: SessionTimes,
  { sessionExpiresIn, sessionUpdateAge }: SessionLengths,
  nowMs: number,
): number | undefined {
  const endMs = session.expiresAt.getTime();
  const configuredMs = sessionExpiresIn * 1000;
  // what was last extended by then is due
  const dueMs = nowMs - sessionUpdateAge * 1000;
  // a session that was created shorter is due later
  if (endMs - configuredMs > dueMs) return undefined;
  const createdMs = session.createdAt.getTime();
  const changedMs = Math.max(createdMs, session.updatedAt.getTime());
  if (session.impersonatedBy || isUnremembered(endMs, createdMs, changedMs, configuredMs)) {
    return undefined;
  }
  const wasCreatedShort = endMs - createdMs < configuredMs - CREATION_MS;
  if (!wasCreatedShort) return nowMs + configuredMs;
  if (changedMs > dueMs) return undefined;
  const extendedMs = Math.min(
    nowMs + endMs - changedMs,
    createdMs + configuredMs - CREATION_MS - 1,
  );
  return extendedMs > endMs ? extendedMs : undefined;
}

function isUnremembered(
  endMs: number,
  createdMs: number,
  changedMs: number,
  configuredMs: number,
): boolean {
  if (!isDay(endMs - createdMs) || isDay(configuredMs)) return false;
  // a session of less than a day may have come to this end by extensions; then it was changed after
  // its creation
  return configuredMs > UNREMEMBERED_MS || changedMs - createdMs <= CREATION_MS;
}

function isDay(ms: number): boolean {
  return ms <= UNREMEMBERED_MS && ms >= UNREMEMBERED_MS - CREATION_MS;
}
