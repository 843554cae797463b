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
  if (match === null) {
    return text === "infinity" ? Infinity : text === "-infinity" ? -Infinity : text;
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
  // Date.UTC takes the years 0 to 99 for those of the last century
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

/** After so many years the calendar repeats. */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 86_400_000;

function offsetMs(sign: string | undefined, hours: string, minutes = "0", seconds = "0"): number {
  if (sign === undefined) return 0;
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -ms : ms;
}
