import { TRELLIS } from "../analysis/resolve_module.ts";

const ENTRY_POINTS: Readonly<Record<string, string>> = {
  "": "mod",
  auth: "auth/mod",
  "auth/schema": "auth/schema",
  cli: "cli/mod",
  core: "core/mod",
  database: "database/mod",
  "database/orm": "database/orm",
  env: "env/mod",
  errors: "errors/mod",
  observability: "observability/mod",
  testing: "testing/mod",
  validation: "validation/mod",
};

/**
 * Where an entry point of this package is: functions must share the very modules of the command that runs them, which
 * keep the open database connections, the log's output and the listeners of spans.
 *
 * @param specifier `@trellis/fn/database`
 * @returns Its address, or `undefined` when there is no such entry point.
 */
export function ownModule(specifier: string): string | undefined {
  const entry = specifier.slice(TRELLIS.length + 1);
  if (!Object.hasOwn(ENTRY_POINTS, entry)) return undefined;
  const extension = /\.[a-z]+$/.exec(new URL(import.meta.url).pathname)?.[0] ?? ".js";
  return new URL(`../../${ENTRY_POINTS[entry]}${extension}`, import.meta.url).href;
}
