import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ManifestFacts } from "../build/read_statements.ts";

/** Name of the manifest in the folder of the bundles. */
export const MANIFEST_FILE = "release.json";

/** Function of a release, with what it sends to the database. */
export interface ManifestFunction extends ManifestFacts {
  readonly name: string;
  /** Role of the database; `null` if the function has none. */
  readonly role: string | null;
  /** Grants of the role. */
  readonly grants: readonly string[];
}

/** What a release needs of the schema of its database. */
export interface ReleaseManifest {
  readonly version: 1;
  /** Tags of the migrations that the release was built with, in order. */
  readonly migrations: readonly string[];
  readonly functions: readonly ManifestFunction[];
}

/**
 * Creates the manifest of a release.
 *
 * @param migrations Tags of the migrations, in order.
 * @param facts The statements of each function, by its name.
 * @param permissionsFolder Absolute path of the generated permission files.
 */
export function createManifest(
  migrations: readonly string[],
  facts: ReadonlyMap<string, ManifestFacts>,
  permissionsFolder: string,
): ReleaseManifest {
  const functions = [...facts].map(([name, read]) => ({
    name,
    ...readRole(join(permissionsFolder, `${name}.sql`)),
    ...read,
  }));
  return { version: 1, migrations, functions };
}

/** Reads the role and the grants of a generated permission file, without those of AWS. */
function readRole(file: string): Pick<ManifestFunction, "role" | "grants"> {
  if (!existsSync(file)) return { role: null, grants: [] };
  const text = readFileSync(file, "utf8").replace(/^--.*$/gm, "");
  const statements = text.split(/;\s*$/m).map((sql) => sql.trim());
  const role = statements.map((sql) => /^CREATE ROLE "([^"]+)"/.exec(sql)?.[1])
    .find((name) => name !== undefined);
  return {
    role: role ?? null,
    grants: statements.filter((sql) => /^(?:GRANT|REVOKE)\b/.test(sql)),
  };
}

/**
 * Parses a manifest.
 *
 * @param text The file.
 * @param name The file's name, for messages.
 * @throws {ConfigurationError} If it is no manifest of this version.
 */
export function parseManifest(text: string, name: string): ReleaseManifest {
  let manifest: ReleaseManifest | undefined;
  try {
    manifest = JSON.parse(text);
  } catch {
    // reported below
  }
  const isManifest = manifest?.version === 1 && Array.isArray(manifest.migrations) &&
    Array.isArray(manifest.functions);
  if (isManifest) return manifest!;
  throw new ConfigurationError(
    `${name} is no manifest of a release: trellis build writes it to ${MANIFEST_FILE} beside the bundles`,
  );
}
