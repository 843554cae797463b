import type { EmbeddedDatabase } from "./embedded_backend.ts";
import type { DistSqlPrincipal } from "./iam_token.ts";
import type { DistSqlLimits } from "./server_context.ts";

/** The database behind the server. */
export type DistSqlBackend =
  /** A real PostgreSQL, 15 or later; the user of the URL must be a superuser. Clients run at the same time. */
  | { readonly url: string }
  /** PGlite, in memory or in a folder. Clients take turns, one transaction at a time. */
  | { readonly dataDir?: string }
  /** An open PGlite, which the caller closes. */
  | { readonly database: EmbeddedDatabase };

/** Options of `startDistSqlServer`. */
export interface DistSqlServerOptions {
  /**
   * What keeps the rows.
   *
   * @default {} (PGlite in memory)
   */
  readonly backend?: DistSqlBackend;
  /**
   * The host name that tokens are signed for and that the certificate names, beside `localhost` and `127.0.0.1`.
   *
   * @default "localhost"
   */
  readonly hostname?: string;
  /**
   * The port on the loopback interface.
   *
   * @default 0 (a free one)
   */
  readonly port?: number;
  /**
   * The region that tokens are signed for.
   *
   * @default "us-east-1"
   */
  readonly region?: string;
  /**
   * Who may sign tokens.
   *
   * @default One principal, which `server.principal` shows.
   */
  readonly principals?: readonly DistSqlPrincipal[];
  /**
   * The day, YYYY-MM-DD, whose rules count.
   *
   * @default Every rule that is known.
   */
  readonly asOf?: string;
  /**
   * Limits that differ from the provider's.
   *
   * @default The provider's limits.
   */
  readonly limits?: Partial<DistSqlLimits>;
  /**
   * After how long a connection is closed, in milliseconds; a transaction that is open then may last five minutes more.
   *
   * @default 3600000
   */
  readonly sessionLifetimeMs?: number;
  /**
   * How long an asynchronous job takes at least, in milliseconds.
   *
   * @default 0
   */
  readonly jobDelayMs?: number;
  /**
   * Whether every session is told OC001 once after another one has changed the catalog, as on a cluster.
   *
   * @default false
   */
  readonly catalogConflicts?: boolean;
  /**
   * With PGlite: after how long a transaction that waits for its client, while other clients wait for it, is given up
   * with OC000, in milliseconds.
   *
   * @default 1000
   */
  readonly surrenderAfterMs?: number;
  /**
   * The clock, in milliseconds since the epoch: tokens and the age of transactions are measured by it.
   *
   * @default Date.now
   */
  readonly now?: () => number;
}

/** Throws a RangeError for an option that is out of its range. */
export function checkServerOptions(options: DistSqlServerOptions): void {
  const { asOf, sessionLifetimeMs, jobDelayMs, surrenderAfterMs, principals, limits } = options;
  if (asOf !== undefined && !/^\d{4}-\d\d-\d\d$/.test(asOf)) {
    throw new RangeError(`asOf must be a day, YYYY-MM-DD, got ${JSON.stringify(asOf)}`);
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
      throw new RangeError(`${name} must be a number from 0 up, got ${value}`);
    }
  }
  if (principals?.length === 0) {
    throw new RangeError("principals must name one at least: nobody could sign in");
  }
}
