/**
 * Loads dedicated sessions of postgres.js, which migrations and commands use. `trellis build` replaces
 * this module by one that imports them statically.
 */
export function loadPostgresSession(): Promise<typeof import("./postgres_js_session.ts")> {
  return import("./postgres_js_session.ts");
}
