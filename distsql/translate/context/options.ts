import { ConfigurationError } from "../../../errors/http_errors.ts";
import { CAPABILITIES_FROM, type IsoDay } from "../../registry/capabilities.ts";
import { type DeclaredSchema, EMPTY_SCHEMA } from "../../schema/declared_schema.ts";

/** Options of the translation. */
export interface DistSqlOptions {
  /**
   * Day whose rules apply, for a cluster or test with an earlier state: 2026-08-25 or later.
   * @default the newest rules
   */
  asOf?: Date | string;
  /**
   * CACHE of identity columns and sequences: 1 keeps values in order, 65536 or more leaves gaps but
   * has a higher throughput.
   * @default 1
   */
  identityCache?: number;
  /**
   * Replacement for numeric without precision. If omitted, it is kept with a warning: the provider
   * stores it as numeric(18,6).
   */
  numeric?: { precision: number; scale: number };
  /**
   * Treatment of enums: rejected, or converted to text with a CHECK of the labels.
   * @default "error"
   */
  enums?: "error" | "check";
  /**
   * Declarations of earlier migrations: tables with their columns and constraints, enums, domains,
   * sequences. Pass the `declared` of the previous text, as `runMigrations` does over all files.
   */
  declared?: DeclaredSchema;
  /**
   * Omit row level security and its policies. Every role with a grant can then access all rows.
   * @default false
   */
  dropRowSecurity?: boolean;
}

/** Options with defaults. */
export interface ResolvedOptions {
  readonly day: IsoDay;
  readonly identityCache: number;
  readonly numeric: { precision: number; scale: number } | undefined;
  readonly enums: "error" | "check";
  readonly declared: DeclaredSchema;
  readonly dropRowSecurity: boolean;
}

/** Date after every rule. */
const NEWEST: IsoDay = "9999-12-31";
const SMALLEST_LARGE_CACHE = 65536;

function getDay(asOf: Date | string | undefined): IsoDay {
  if (asOf === undefined) return NEWEST;
  const isDay = asOf instanceof Date || /^\d{4}-\d{2}-\d{2}(?:T|$)/.test(asOf);
  const date = new Date(asOf);
  if (!isDay || Number.isNaN(date.getTime())) {
    throw new ConfigurationError(
      `asOf is ${String(asOf)}: give a Date or an ISO date such as 2026-08-25`,
    );
  }
  const day = typeof asOf === "string" ? asOf.slice(0, 10) : date.toISOString().slice(0, 10);
  if (day >= CAPABILITIES_FROM) return day;
  throw new ConfigurationError(
    `asOf is ${day}: the rules before ${CAPABILITIES_FROM} are not known, give a later day`,
  );
}

/** Checks whether the provider accepts a CACHE value. */
export function isAcceptedCache(cache: number): boolean {
  return Number.isSafeInteger(cache) && (cache === 1 || cache >= SMALLEST_LARGE_CACHE);
}

/**
 * Validates the options and adds defaults.
 *
 * @param options The caller's options.
 * @returns All options.
 * @throws {ConfigurationError} If an option has an unknown value or an invalid date.
 */
export function resolveOptions(options: DistSqlOptions = {}): ResolvedOptions {
  const {
    asOf,
    identityCache = 1,
    numeric,
    enums = "error",
    declared = EMPTY_SCHEMA,
    dropRowSecurity = false,
  } = options;
  if (!isAcceptedCache(identityCache)) {
    throw new ConfigurationError(`identityCache is ${identityCache}: give 1, or 65536 or more`);
  }
  if (
    numeric &&
    !(Number.isInteger(numeric.precision) && numeric.precision >= 1 && numeric.precision <= 1000)
  ) {
    throw new ConfigurationError(`numeric.precision is ${numeric.precision}: give 1 to 1000`);
  }
  if (
    numeric &&
    !(Number.isInteger(numeric.scale) && numeric.scale >= 0 && numeric.scale <= numeric.precision)
  ) {
    throw new ConfigurationError(
      `numeric.scale is ${numeric.scale}: give 0 to the precision, ${numeric.precision}`,
    );
  }
  if (enums !== "error" && enums !== "check") {
    throw new ConfigurationError(`enums is ${String(enums)}: give "error" or "check"`);
  }
  return {
    day: getDay(asOf),
    identityCache,
    numeric,
    enums,
    declared,
    dropRowSecurity,
  };
}
