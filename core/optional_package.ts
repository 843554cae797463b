import { ConfigurationError } from "../errors/http_errors.ts";

/**
 * The optional packages with their supported versions: the optional peers of the npm package, and the SQL parser of the
 * command line. Each is loaded by the code that uses it, so that applications install and bundle only what they use.
 */
export const OPTIONAL_PACKAGES = {
  "@aws-sdk/client-rds-data": "^3.1143.0",
  "@aws-sdk/dsql-signer": "^3.1142.0",
  "@electric-sql/pglite": "^0.5.16",
  "@neondatabase/serverless": "^1.2.0",
  "better-auth": "^1.7.7",
  "drizzle-orm": "^0.45.4",
  "esbuild": ">=0.28.2 <1",
  "libpg-query": "^18.1.5",
  "postgres": "^3.4.9",
  "typescript": ">=5.9",
} as const satisfies Record<string, string>;

/** A package of {@link OPTIONAL_PACKAGES}. */
export type OptionalPackage = keyof typeof OPTIONAL_PACKAGES;

/**
 * Explains a failed `import()` of an optional package with the command that installs it. Rethrows any other error
 * unchanged. Bundlers treat an `import()` with a `catch` as optional.
 *
 * @param name The package.
 * @param purpose The feature that needs it: the start of the message.
 * @returns A function for `catch`, which throws.
 * @throws {ConfigurationError} When the package is not installed.
 */
export function explainMissing(name: OptionalPackage, purpose: string): (error: unknown) => never {
  return function explain(error): never {
    if (!isMissing(error, name)) throw error;
    throw new ConfigurationError(
      `${purpose} needs the package ${name}, which is not installed. Install it: npm install "${name}@${
        OPTIONAL_PACKAGES[name]
      }"`,
      { cause: error },
    );
  };
}

/** Checks that the package itself is missing, and not a file inside it. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") &&
    new RegExp(`(package|module) ['"]${name}['"]`).test(error.message);
}
