const POSTGRES =
  /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)?(?:Z|([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)$/;

/**
 * Converts a `timestamptz` of PostgreSQL as text, `2026-11-23 18:16:29.854321+00`, to an ISO 8601 date in UTC, as
 * `z.iso.datetime()` accepts it. Microseconds are kept, which a `Date` does not have.
 *
 * @param text The text in PostgreSQL's default format or in ISO 8601.
 * @returns `2026-11-23T18:16:29.854321Z`
 * @throws {RangeError} If the text is another one, such as `infinity`, a year before 1 or after 9999, or has no offset.
 *
 * @example
 * ```ts
 * import { toIsoDateTime } from "@trellis/fn/validation";
 *
 * console.log(toIsoDateTime("2026-11-23 20:16:29.854321+02")); // 2026-11-23T18:16:29.854321Z
 * ```
 */
export function toIsoDateTime(text: string): string {
  const [, date, time, fraction = "", sign, hours = "0", minutes = "0", seconds = "0"] =
    POSTGRES.exec(text) ?? [];
  const local = date === undefined ? NaN : Date.parse(`${date}T${time}Z`);
  const offsetMs = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  const utc = new Date(local - (sign === "-" ? -offsetMs : offsetMs));
  const iso = Number.isNaN(utc.getTime()) ? "" : utc.toISOString();
  if (!/^\d{4}-/.test(iso)) {
    throw new RangeError(`${JSON.stringify(text)} is not a date with time and offset`);
  }
  return `${iso.slice(0, 19)}${fraction}Z`;
}
