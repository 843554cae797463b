/** The name of a severity, as in `LOG_LEVEL`. `SILENT` turns the log off. */
export type LogLevel = "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR" | "CRITICAL" | "SILENT";

/** Severities by name, lowest first. */
export const LOG_LEVELS: Readonly<Record<LogLevel, number>> = {
  TRACE: 6,
  DEBUG: 8,
  INFO: 12,
  WARN: 16,
  ERROR: 20,
  CRITICAL: 24,
  SILENT: 28,
};

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
