/** PostgreSQL's ISO date style: `2026-01-31 12:00:00.123456+05:30`, `0044-03-15 00:00:00 BC`. */
const TIMESTAMP = new RegExp(
  "^(\\d{4,6})-(\\d\\d)-(\\d\\d) (\\d\\d):(\\d\\d):(\\d\\d)(?:\\.(\\d{1,6}))?" +
    "(?:([+-])(\\d\\d)(?::(\\d\\d)(?::(\\d\\d))?)?)?( BC)?$",
);

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
  const [
    ,
    year,
    month,
    day,
    hours,
    minutes,
    seconds,
    fraction = "",
    sign,
    zoneH,
    zoneM,
    zoneS,
    bc,
  ] = match;
  const ms = fraction === "" ? 0 : Number(fraction.slice(0, 3).padEnd(3, "0"));
  const fullYear = bc === undefined ? Number(year) : 1 - Number(year);
  // Date.UTC reads the years 0 to 99 as 1900 to 1999
  const isEarly = fullYear >= 0 && fullYear < 100;
  const utcMs = Date.UTC(
    isEarly ? fullYear + CYCLE_YEARS : fullYear,
    Number(month) - 1,
    Number(day),
    Number(hours),
    Number(minutes),
    Number(seconds),
    ms,
  );
  const date = new Date(utcMs - (isEarly ? CYCLE_MS : 0) - offsetMs(sign, zoneH, zoneM, zoneS));
  return Number.isNaN(date.getTime()) ? text : date;
}

/** The calendar repeats after this many years. */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 86_400_000;

function offsetMs(sign: string | undefined, hours: string, minutes = "0", seconds = "0"): number {
  if (sign === undefined) return 0;
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -ms : ms;
}
