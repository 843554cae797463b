/** The region of all sample events. */
export const REGION = "eu-west-1";
/** The account of all sample events. */
export const ACCOUNT = "123456789012";
/** The time of all sample events. */
export const TIME = "2026-01-01T00:00:00.000Z";
/** {@link TIME} in milliseconds since 1970. */
export const TIME_MS: number = Date.parse(TIME);
