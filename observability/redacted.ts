/** Replaces a redacted value. */
export const REDACTED = "[REDACTED]";
/** Replaces a value that cannot be read. */
export const UNREADABLE = "[Unreadable]";
