/** PostgreSQL's ISO date style: `2026-01-31 12:00:00.123456+05:30`, `0044-03-15 00:00:00 BC`. */
const TIMESTAMP = new RegExp(
  "^(\\d{4,6})-(\\d\\d)-(\\d\\d) (\\d\\d):(\\d\\d):(\\d\\d)(?:\\.(\\d{1,6}))?" +
    "(?:([+-])(\\d\\d)(?::(\\d\\d)(?::(\\d\\d))?)?)?( BC)?$",
);

/**
 * Reads a `timestamp` or `timestamptz`. One without a zone is taken as UTC, as drizzle does, so that the answer does not
 * hang on the machine's time zone. Microseconds are cut to milliseconds.
 *
 * @param text PostgreSQL's text form.
 * @returns A `Date`; a number for `infinity` and `-infinity`; the text where a `Date` cannot hold the value.
 */
export function readTimestamp(text: string): Date | number | string {
  const match = TIMESTAMP.exec(text);
  if (match === null) return text === "infinity" ? Infinity : text === "-infinity" ? -Infinity : text;
  const [, year, month, day, hours, minutes, seconds, fraction = "0", sign, zoneH, zoneM, zoneS, bc] = match;
  const date = new Date(0);
  date.setUTCFullYear(bc === undefined ? Number(year) : 1 - Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hours), Number(minutes), Number(seconds), Number(fraction.slice(0, 3).padEnd(3, "0")));
  if (sign !== undefined) {
    const offsetSeconds = Number(zoneH) * 3600 + Number(zoneM ?? 0) * 60 + Number(zoneS ?? 0);
    date.setTime(date.getTime() - (sign === "-" ? -offsetSeconds : offsetSeconds) * 1000);
  }
  return Number.isNaN(date.getTime()) ? text : date;
}
