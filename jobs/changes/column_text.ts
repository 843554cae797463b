import { toHex } from "../../core/digest.ts";
import { decodeBase64 } from "../../core/http/base64.ts";
import { misfit } from "../../core/triggers/parse_input.ts";

/** Converts a value of the change stream to PostgreSQL's text; `undefined` if it does not fit. */
export type ToText = (value: unknown) => string | undefined;

const MICROS_PER_SECOND = 1_000_000n;
const SECONDS_PER_DAY = 86_400n;
const MICROS_PER_DAY = SECONDS_PER_DAY * MICROS_PER_SECOND;

/** Values that represent infinity (Aurora DSQL user guide, "Understanding CDC records"). */
const INFINITE: ReadonlyMap<bigint, string> = new Map([
  [9223372036825200000n, "infinity"],
  [-9223372036832400000n, "-infinity"],
]);

/** Days of PostgreSQL's `date`: 4714-11-24 BC to 5874897-12-31. */
const MIN_DAY = -2_440_588n;
const MAX_DAY = 2_145_042_541n;

const SPECIAL = ["NaN", "Infinity", "-Infinity"];

const asText: ToText = (value) => typeof value === "string" ? value : undefined;

/**
 * Conversions by the name of the type in `pg_type`. An interval has none: the stream has only its
 * approximate length.
 */
export const TEXT_BY_TYPE: Readonly<Record<string, ToText>> = {
  int2: toIntegerText,
  int4: toIntegerText,
  int8: toIntegerText,
  float4: toNumberText,
  float8: toNumberText,
  numeric: asText,
  bool: (value) => typeof value === "boolean" ? String(value)[0] : undefined,
  text: asText,
  varchar: asText,
  bpchar: asText,
  uuid: asText,
  json: asText,
  jsonb: asText,
  bytea: toBytesText,
  date: (value) => mapInteger(value, toDateText),
  time: (value) => mapInteger(value, toTimeText),
  timetz: (value) => mapInteger(value, (micros) => withZone(toTimeText(micros))),
  timestamp: (value) => mapInteger(value, toTimestampText),
  timestamptz: (value) => mapInteger(value, (micros) => withZone(toTimestampText(micros))),
};

function mapInteger(value: unknown, map: (value: bigint) => string | undefined) {
  const text = toIntegerText(value);
  return text === undefined ? undefined : map(BigInt(text));
}

/** Long integers arrive as strings, see `parseExactJson`. */
function toIntegerText(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === "string" && /^-?\d{1,19}$/.test(value) ? value : undefined;
}

function toNumberText(value: unknown): string | undefined {
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value !== "string") return undefined;
  return SPECIAL.includes(value) || /^-?\d+$/.test(value) ? value : undefined;
}

function toBytesText(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return `\\x${toHex(decodeBase64(value))}`;
}

function withZone(text: string | undefined): string | undefined {
  if (text === undefined || text.endsWith("infinity")) return text;
  return text.endsWith(" BC") ? `${text.slice(0, -3)}+00 BC` : `${text}+00`;
}

function toDateText(days: bigint): string {
  if (days < MIN_DAY || days > MAX_DAY) {
    throw misfit("a date is infinite, which the change stream does not describe");
  }
  const { date, isBC } = toDate(days);
  return isBC ? `${date} BC` : date;
}

function toTimeText(micros: bigint): string | undefined {
  if (micros < 0n || micros > MICROS_PER_DAY) return undefined;
  const seconds = micros / MICROS_PER_SECOND;
  const clock = [seconds / 3600n, seconds / 60n % 60n, seconds % 60n].map((part) => pad(part, 2));
  const fraction = micros % MICROS_PER_SECOND;
  return clock.join(":") + (fraction === 0n ? "" : `.${trimZeros(pad(fraction, 6))}`);
}

function toTimestampText(micros: bigint): string | undefined {
  const special = INFINITE.get(micros);
  if (special !== undefined) return special;
  const rest = (micros % MICROS_PER_DAY + MICROS_PER_DAY) % MICROS_PER_DAY;
  const { date, isBC } = toDate((micros - rest) / MICROS_PER_DAY);
  return `${date} ${toTimeText(rest)}${isBC ? " BC" : ""}`;
}

/** Days of 400 years, after which the calendar repeats. */
const CYCLE_DAYS = 146_097n;

/** Converts days since 1970 to a date of the Gregorian calendar, which has no year 0. */
function toDate(days: bigint): { date: string; isBC: boolean } {
  // the same day of a year from 1970 on, for which `Date` has no gaps
  const cycles = (days - ((days % CYCLE_DAYS + CYCLE_DAYS) % CYCLE_DAYS)) / CYCLE_DAYS;
  const near = new Date(Number(days - cycles * CYCLE_DAYS) * 86_400_000);
  const year = BigInt(near.getUTCFullYear()) + cycles * 400n;
  const isBC = year <= 0n;
  const shown = pad(isBC ? 1n - year : year, 4);
  return { date: `${shown}-${near.toISOString().slice(5, 10)}`, isBC };
}

function pad(value: bigint, length: number): string {
  return String(value).padStart(length, "0");
}

function trimZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}
