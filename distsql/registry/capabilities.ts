/** Day in the form `YYYY-MM-DD`. */
export type IsoDay = string;

/** Source of a fact about the provider. */
export interface DistSqlSource {
  /** Title of the source. */
  readonly title: string;
  /** URL, if it is published in one place. */
  readonly url?: string;
}

const USER_GUIDE = "https://docs.aws.amazon.com/aurora-dsql/latest/userguide";

/** Sources of capabilities and registry entries, by key. */
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

/** Capability that the provider added on a known day. */
export interface DistSqlCapability {
  /** First day on which it is available. */
  readonly since: IsoDay;
  /** Description of the capability. */
  readonly title: string;
  /** Keys of {@link DIST_SQL_SOURCES}. */
  readonly source: readonly string[];
}

/**
 * Day of the newest observation that the rules are based on. Later changes of the provider are not
 * included.
 */
export const CAPABILITIES_AS_OF: IsoDay = "2026-10-03";

/** First day whose rules are known: what the provider lacked before is not part of the registry. */
export const CAPABILITIES_FROM: IsoDay = "2026-08-25";

/**
 * Capabilities that the provider added after {@link CAPABILITIES_FROM}, with the day of their
 * release. Rules check capabilities, never dates.
 */
export const DIST_SQL_CAPABILITIES = {
  foreign_keys: { since: "2026-08-26", title: "Foreign keys", source: ["REL", "FKD", "EMU"] },
  statistics: { since: "2026-08-27", title: "CREATE, ALTER and DROP STATISTICS", source: ["REL"] },
  partial_indexes: { since: "2026-09-15", title: "Partial indexes", source: ["REL", "EMU"] },
} as const satisfies Record<string, DistSqlCapability>;

/** Name of a capability in {@link DIST_SQL_CAPABILITIES}. */
export type DistSqlCapabilityName = keyof typeof DIST_SQL_CAPABILITIES;

/**
 * Checks whether the provider had a capability on a day.
 *
 * @param name The capability.
 * @param day The day.
 * @returns `true` from the capability's first day on.
 */
export function hasCapability(name: DistSqlCapabilityName, day: IsoDay): boolean {
  return day >= DIST_SQL_CAPABILITIES[name].since;
}
