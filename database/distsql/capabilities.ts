/** A day, as `YYYY-MM-DD`. */
export type IsoDay = string;

/** Where a fact about the provider comes from. */
export interface DistSqlSource {
  /** What it is. */
  readonly title: string;
  /** Where it is published, when in one place. */
  readonly url?: string;
}

const USER_GUIDE = "https://docs.aws.amazon.com/aurora-dsql/latest/userguide";

/** The sources that capabilities and registry entries name by their keys. */
export const DIST_SQL_SOURCES: Readonly<Record<string, DistSqlSource>> = {
  REL: { title: "AWS release notes", url: `${USER_GUIDE}/release-notes.html` },
  AT: { title: "ALTER TABLE syntax", url: `${USER_GUIDE}/alter-table-syntax-support.html` },
  CT: { title: "CREATE TABLE syntax", url: `${USER_GUIDE}/create-table-syntax-support.html` },
  CI: { title: "CREATE INDEX syntax", url: `${USER_GUIDE}/create-index-syntax-support.html` },
  CS: { title: "CREATE SEQUENCE syntax", url: `${USER_GUIDE}/create-sequence-syntax-support.html` },
  DT: {
    title: "Supported data types",
    url: `${USER_GUIDE}/working-with-postgresql-compatibility-supported-data-types.html`,
  },
  Q: { title: "Quotas and limits", url: `${USER_GUIDE}/CHAP_quotas.html` },
  DDLD: { title: "DDL and distributed transactions", url: `${USER_GUIDE}/working-with-ddl.html` },
  CC: { title: "Concurrency control", url: `${USER_GUIDE}/working-with-concurrency-control.html` },
  FKD: { title: "Foreign keys", url: `${USER_GUIDE}/working-with-foreign-key-constraints.html` },
  TOK: { title: "Authentication tokens", url: `${USER_GUIDE}/SECTION_authentication-token.html` },
  ROLE: { title: "Database and IAM roles", url: `${USER_GUIDE}/using-database-and-iam-roles.html` },
  SYS: { title: "System tables", url: `${USER_GUIDE}/working-with-systems-tables.html` },
  LIM: {
    title: "AWS agent plugins: limits, error codes, index conversion (live, October 2026)",
    url: "https://github.com/awslabs/agent-plugins",
  },
  EMU: {
    title: "dsql-emulator golden record (live, September 2026)",
    url: "https://github.com/Dreamescaper/dsql-emulator",
  },
  DSB: {
    title: "dsqlbase capability record (live, October 2026)",
    url: "https://github.com/slsdotdev/dsqlbase",
  },
  LINT: {
    title: "awslabs dsql-lint (cluster-tested fixtures, August 2026)",
    url: "https://github.com/awslabs/aurora-dsql-tools",
  },
  PROBE: { title: "Independent public probes of clusters (live, July to September 2026)" },
};

/** Something the provider learned on a known day. */
export interface DistSqlCapability {
  /** The first day on which it can be counted on. */
  readonly since: IsoDay;
  /** What it is. */
  readonly title: string;
  /** Keys of {@link DIST_SQL_SOURCES}. */
  readonly source: readonly string[];
}

/** The day of the newest observation that the rules rest on: what the provider learned later is not known here. */
export const CAPABILITIES_AS_OF: IsoDay = "2026-10-03";

/**
 * What the provider learned, with the day (the last of the window where only a month is known). A rule asks
 * for a capability, never for a date.
 */
export const DIST_SQL_CAPABILITIES = {
  sequences: {
    since: "2026-02-28",
    title: "Sequences and bigint identity columns",
    source: ["REL", "CS"],
  },
  json_columns: {
    since: "2026-06-30",
    title: "json and jsonb as column types",
    source: ["REL", "DT"],
  },
  column_defaults: {
    since: "2026-07-20",
    title: "ALTER COLUMN: DROP NOT NULL, SET DEFAULT, DROP DEFAULT",
    source: ["LINT", "AT"],
  },
  drop_column: { since: "2026-08-03", title: "DROP COLUMN", source: ["REL", "EMU"] },
  check_not_valid: {
    since: "2026-08-03",
    title: "ADD CONSTRAINT CHECK … NOT VALID and ALTER TABLE ASYNC … VALIDATE CONSTRAINT",
    source: ["REL", "EMU"],
  },
  expression_indexes: {
    since: "2026-08-13",
    title: "Indexes on immutable expressions",
    source: ["REL", "EMU"],
  },
  numeric_keys: {
    since: "2026-08-25",
    title: "numeric up to 1,000 digits, and numeric in keys",
    source: ["REL", "DT"],
  },
  for_key_share: { since: "2026-08-25", title: "SELECT … FOR KEY SHARE", source: ["REL", "EMU"] },
  foreign_keys: { since: "2026-08-26", title: "Foreign keys", source: ["REL", "FKD", "EMU"] },
  statistics: { since: "2026-08-27", title: "CREATE, ALTER and DROP STATISTICS", source: ["REL"] },
  partial_indexes: { since: "2026-09-15", title: "Partial indexes", source: ["REL", "EMU"] },
} as const satisfies Record<string, DistSqlCapability>;

/** The name of something in {@link DIST_SQL_CAPABILITIES}. */
export type DistSqlCapabilityName = keyof typeof DIST_SQL_CAPABILITIES;

/**
 * Whether the provider could do something on a day.
 *
 * @param name What is asked about.
 * @param day The day.
 * @returns `true` from the capability's first day on.
 */
export function hasCapability(name: DistSqlCapabilityName, day: IsoDay): boolean {
  return day >= DIST_SQL_CAPABILITIES[name].since;
}
