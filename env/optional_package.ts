import { ConfigurationError } from "../errors/http_errors.ts";

/**
 * Optional packages of all folders but `auth`, `database` and `distsql`, with their supported versions.
 * The file that needs a package loads it with `import()`, so that applications install and bundle only
 * what they use.
 */
export const RUNTIME_PACKAGES = {
  "@aws-sdk/client-apigatewaymanagementapi": "^3",
  "@aws-sdk/client-dynamodb": "^3",
  "@aws-sdk/client-s3": "^3",
  "@aws-sdk/client-secrets-manager": "^3",
  "@aws-sdk/client-sesv2": "^3",
  "@aws-sdk/client-sqs": "^3",
  "@aws-sdk/client-ssm": "^3",
  "@aws-sdk/s3-presigned-post": "^3",
  "@aws-sdk/s3-request-presigner": "^3",
  "croner": "^11.0.1",
  "hono": "^4.13.19",
  "nodemailer": "^10.6.1",
  "openapi-fetch": ">=0.17.0 <1",
} as const;

/**
 * Explains a failed `import()` of an optional package with the command that installs it. Rethrows any other error
 * unchanged. Bundlers treat an `import()` with a `catch` as optional, webpack only one in a `try`: that of drivers and of better-auth,
 * which most applications lack some of.
 *
 * @param ranges Supported versions by package.
 * @param name The package.
 * @param purpose The feature that needs it: the start of the message.
 * @returns A function for `catch`, which throws.
 * @throws {ConfigurationError} When the package is not installed.
 */
export function explainMissing<Name extends string>(
  ranges: Readonly<Record<Name, string>>,
  name: Name,
  purpose: string,
): (error: unknown) => never {
  return function explain(error): never {
    if (!isMissing(error, name)) throw error;
    throw new ConfigurationError(
      `${purpose} needs the package ${name}, which is not installed. ` +
        `Install it: npm install "${name}@${ranges[name]}"`,
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
