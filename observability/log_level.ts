/** Severities by name, least first. `SILENT` shows nothing. */
export const LOG_LEVELS = {
  TRACE: 6,
  DEBUG: 8,
  INFO: 12,
  WARN: 16,
  ERROR: 20,
  CRITICAL: 24,
  SILENT: 28,
} as const;

/** A severity, as `LOG_LEVEL` names it. */
export type LogLevel = keyof typeof LOG_LEVELS;

/**
 * Reads the name of a level in any case.
 *
 * @param text What a setting says.
 * @returns The level, or `undefined` when it names none.
 */
export function parseLogLevel(text: string | undefined): LogLevel | undefined {
  const name = text?.trim().toUpperCase();
  if (name === "WARNING") return "WARN";
  return name !== undefined && Object.hasOwn(LOG_LEVELS, name) ? name as LogLevel : undefined;
}
