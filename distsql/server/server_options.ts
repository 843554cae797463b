import { CAPABILITIES_FROM } from "../registry/capabilities.ts";
import type { EmbeddedDatabase } from "./embedded_backend.ts";
import type { DistSqlPrincipal } from "./iam_token.ts";
import type { DistSqlLimits } from "./server_context.ts";

/** Database behind the server. */
export type DistSqlBackend =
  /**
   * A real PostgreSQL, 15 or later; the user of the URL must be a superuser. Clients run
   * concurrently.
   */
  | { readonly url: string }
  /** PGlite, in memory or in a folder. Clients take turns, one transaction at a time. */
  | { readonly dataDir?: string }
  /** An open PGlite, which the caller closes. */
  | { readonly database: EmbeddedDatabase };

/** Options of `startDistSqlServer`. */
export interface DistSqlServerOptions {
  /**
   * Database behind the server.
   *
   * @default {} (PGlite in memory)
   */
  readonly backend?: DistSqlBackend;
  /**
   * Host name for tokens and the certificate, which also contains `localhost` and `127.0.0.1`.
   *
   * @default "localhost"
   */
  readonly hostname?: string;
  /**
   * Port on the loopback interface.
   *
   * @default 0 (a free one)
   */
  readonly port?: number;
  /**
   * Region for tokens.
   *
   * @default "us-east-1"
   */
  readonly region?: string;
  /**
   * Principals that can sign tokens.
   *
   * @default One principal, see `server.principal`.
   */
  readonly principals?: readonly DistSqlPrincipal[];
  /**
   * Day, YYYY-MM-DD, whose rules apply: 2026-08-25 or later.
   *
   * @default All known rules.
   */
  readonly asOf?: string;
  /**
   * Limits that differ from the provider's.
   *
   * @default The provider's limits.
   */
  readonly limits?: Partial<DistSqlLimits>;
  /**
   * Milliseconds after which a connection is closed; an open transaction may take five minutes
   * more.
   *
   * @default 3600000
   */
  readonly sessionLifetimeMs?: number;
  /**
   * Minimum duration of an asynchronous job in milliseconds.
   *
   * @default 0
   */
  readonly jobDelayMs?: number;
  /**
   * True if every session gets OC001 once after another session has changed the catalog, as on a
   * cluster.
   *
   * @default false
   */
  readonly catalogConflicts?: boolean;
  /**
   * With PGlite: milliseconds after which a transaction that waits for its client, while other
   * clients wait for it, is rolled back with OC000.
   *
   * @default 1000
   */
  readonly surrenderAfterMs?: number;
  /**
   * Clock in milliseconds since the epoch, used for tokens and the age of transactions.
   *
   * @default Date.now
   */
  readonly now?: () => number;
}

/** Throws a RangeError for an option that is out of range. */
export function checkServerOptions(options: DistSqlServerOptions): void {
  const { asOf, sessionLifetimeMs, jobDelayMs, surrenderAfterMs, principals, limits } = options;
  if (asOf !== undefined && !/^\d{4}-\d\d-\d\d$/.test(asOf)) {
    throw new RangeError(`asOf must be a day, YYYY-MM-DD, got ${JSON.stringify(asOf)}`);
  }
  if (asOf !== undefined && asOf < CAPABILITIES_FROM) {
    throw new RangeError(`asOf must be ${CAPABILITIES_FROM} or later, got ${asOf}`);
  }
  for (
    const [name, value] of Object.entries({
      sessionLifetimeMs,
      jobDelayMs,
      surrenderAfterMs,
      ...limits,
    })
  ) {
    if (value !== undefined && !(value >= 0)) {
      throw new RangeError(`${name} must be a number from 0, got ${value}`);
    }
  }
  if (principals?.length === 0) {
    throw new RangeError(
      "principals must name at least one principal: otherwise no client can sign in",
    );
  }
}
