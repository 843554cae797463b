/**
 * Loads the tokens of RDS. `trellis build` replaces this module by one that imports them statically.
 */
export function loadRdsToken(): Promise<typeof import("./rds_token.ts")> {
  return import("./rds_token.ts");
}
