import type { AuthSettings } from "../config/config.ts";

/** Columns that determine the lifetime of a session. */
export interface SessionTimes {
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt: Date;
  /** Id of an impersonating administrator, with better-auth's admin plugin. */
  readonly impersonatedBy?: unknown;
}

type SessionLengths = Pick<AuthSettings, "sessionExpiresIn" | "sessionUpdateAge">;

/** Tolerance, because better-auth reads the clock for `expiresAt` before `createdAt`. */
const CREATION_MS = 999;

/** Lifetime of a session with `rememberMe: false`, which better-auth does not extend. */
const UNREMEMBERED_MS = 86_400_000;

/**
 * Returns the new end of a session that is due to be extended.
 *
 * A session with the configured lifetime is extended like in better-auth. A session with a shorter
 * lifetime is extended by that lifetime, the time from its last extension to its end. It ends
 * before `sessionExpiresIn` has passed since its creation, because only until then its columns show
 * that it was created short. Sessions with `rememberMe: false` and impersonations are not extended,
 * like with better-auth's cookies.
 *
 * @param session The stored session.
 * @param settings The configured lifetime and extension interval.
 * @param nowMs The current time.
 * @returns The new end in milliseconds since 1970, or `undefined` if the session is not extended.
 */
export function findExtendedEnd(
  session: SessionTimes,
  { sessionExpiresIn, sessionUpdateAge }: SessionLengths,
  nowMs: number,
): number | undefined {
  const endMs = session.expiresAt.getTime();
  const configuredMs = sessionExpiresIn * 1000;
  // a session whose last extension was before this time is due
  const dueMs = nowMs - sessionUpdateAge * 1000;
  // a shorter session is due later
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
  // a session with a lifetime under a day can reach this end by extensions, which change
  // `updatedAt`
  return configuredMs > UNREMEMBERED_MS || changedMs - createdMs <= CREATION_MS;
}

function isDay(ms: number): boolean {
  return ms <= UNREMEMBERED_MS && ms >= UNREMEMBERED_MS - CREATION_MS;
}
