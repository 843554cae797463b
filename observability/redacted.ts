/** Replaces a redacted value. */
export const REDACTED = "[REDACTED]";
