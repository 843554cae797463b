import { TRELLIS } from "./package_specifier.ts";

const ENTRY_POINTS: Readonly<Record<string, string>> = {
  "": "mod",
  auth: "auth/mod",
  "auth/jwt": "auth/jwt/mod",
  "auth/schema": "auth/tables/schema",
  cli: "cli/mod",
  client: "client/mod",
  "client/query": "client/query",
  core: "core/mod",
  database: "database/mod",
  "database/migrate": "database/migrate",
  "database/orm": "database/orm",
  "database/types": "database/types",
  distsql: "distsql/mod",
  env: "env/mod",
  errors: "errors/mod",
  idempotency: "idempotency/mod",
  jobs: "jobs/mod",
  mail: "mail/mod",
  observability: "observability/mod",
  realtime: "realtime/mod",
  router: "router/mod",
  streaming: "streaming/mod",
  testing: "testing/mod",
  "testing/distsql": "distsql/server/mod",
  triggers: "triggers/mod",
  "triggers/events": "triggers/events",
  uploads: "uploads/mod",
  validation: "validation/mod",
  workflows: "workflows/mod",
};

/**
 * Resolves an entry point of this package. Functions must share module instances with the CLI
 * process, because those hold open database connections, the log output and span listeners.
 *
 * @param specifier `@trellis/fn/database`
 * @returns The URL, or `undefined` for an unknown entry point.
 */
export function resolveOwnModule(specifier: string): string | undefined {
  const entry = specifier.slice(TRELLIS.length + 1);
  if (!Object.hasOwn(ENTRY_POINTS, entry)) return undefined;
  const extension = /\.[a-z]+$/.exec(new URL(import.meta.url).pathname)?.[0] ?? ".js";
  return new URL(`../../${ENTRY_POINTS[entry]}${extension}`, import.meta.url).href;
}

/** Returns the specifiers of the entry points by the URL that {@link resolveOwnModule} gives. */
export function listOwnModules(): Map<string, string> {
  return new Map(
    Object.keys(ENTRY_POINTS).map((entry) => {
      const specifier = entry === "" ? TRELLIS : `${TRELLIS}/${entry}`;
      return [resolveOwnModule(specifier)!, specifier];
    }),
  );
}
