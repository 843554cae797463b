/** PostgreSQL's ISO date style: `2026-01-31 12:00:00.123456+05:30`, `0044-03-15 00:00:00 BC`. */
const TIMESTAMP =
  /^(\d{4,6})-(\d\d-\d\d) (\d\d:\d\d:\d\d)(?:(\.\d{1,3})\d{0,3})?(?:([+-])(\d\d)(?::(\d\d)(?::(\d\d))?)?)?( BC)?$/;

/**
 * Parses a `timestamp` or `timestamptz`. Without a zone it is read as UTC, like in drizzle, so that
 * the result does not depend on the machine's time zone. Microseconds are truncated to
 * milliseconds.
 *
 * @param text PostgreSQL's text form.
 * @returns A `Date`; a number for `infinity` and `-infinity`; the text if a `Date` cannot represent
 * the value.
 */
export function readTimestamp(text: string): Date | number | string {
  const match = TIMESTAMP.exec(text);
  if (match === null) {
    if (text === "infinity") return Infinity;
    return text === "-infinity" ? -Infinity : text;
  }
  const [, year, day, time, ms = ".", sign, zoneHours, zoneMinutes = "00", zoneSeconds, bc] = match;
  const fullYear = bc === undefined ? Number(year) : 1 - Number(year);
  // ISO 8601 needs a sign and six digits outside of the years 0 to 9999
  const isoYear = fullYear >= 0 && fullYear <= 9999
    ? String(fullYear).padStart(4, "0")
    : `${fullYear < 0 ? "-" : "+"}${String(Math.abs(fullYear)).padStart(6, "0")}`;
  const zone = sign === undefined ? "Z" : `${sign}${zoneHours}:${zoneMinutes}`;
  const dateMs = Date.parse(`${isoYear}-${day}T${time}${ms.padEnd(4, "0")}${zone}`);
  if (Number.isNaN(dateMs)) return text;
  // ISO 8601 has no seconds in a zone, which local mean times have
  const restMs = Number(zoneSeconds ?? 0) * 1000;
  return new Date(sign === "-" ? dateMs + restMs : dateMs - restMs);
}
