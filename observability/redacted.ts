/** Stands where a value was taken out. */
export const REDACTED = "[REDACTED]";
