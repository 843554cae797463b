import { existsSync, readFileSync } from "node:fs";
import type { ResolvedConfig } from "../config/config.ts";

const DISTSQL = /\bprovider:\s*["'`]distsql["'`]/;

/** Returns true if a source file configures a client of Aurora DSQL. */
export function namesDistSql(file: string): boolean {
  return existsSync(file) && DISTSQL.test(readFileSync(file, "utf8"));
}

/**
 * Returns true if a project is deployed to Aurora DSQL: by its settings, or because a source
 * configures it.
 *
 * @param hasSource Returns true if a source names Aurora DSQL. Called if the settings do not decide.
 */
export function isDeployedToDistSql(
  { infra, database }: ResolvedConfig,
  hasSource: () => boolean,
): boolean {
  const chosen = infra.database ?? database.provider;
  return chosen === undefined ? hasSource() : chosen === "distsql";
}
