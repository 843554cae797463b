import { AUTH_PACKAGES } from "../../auth/better_auth/optional_packages.ts";
import { DATABASE_PACKAGES } from "../../database/config/optional_packages.ts";
import { RUNTIME_PACKAGES } from "../../env/optional_package.ts";
import { TESTING_PACKAGES } from "../../distsql/server/syntax/optional_packages.ts";

/** Optional packages of the command line, with their supported versions. */
export const CLI_PACKAGES = {
  "@aws-sdk/client-cloudwatch": "^3",
  "@aws-sdk/client-lambda": "^3",
  "acorn": "^8.19.0",
  "esbuild": ">=0.28.2 <1",
  "fflate": "^0.8.3",
  "openapi-sampler": "^1.7.9",
  "swagger-ui-dist": "^5.35.0",
  "yaml": "^2.9.1",
  "ws": "^8.23.0",
} as const;

/** All optional packages, which are optional peers of the npm package, sorted by name. */
export const OPTIONAL_PACKAGES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    ...AUTH_PACKAGES,
    ...CLI_PACKAGES,
    ...DATABASE_PACKAGES,
    ...RUNTIME_PACKAGES,
    ...TESTING_PACKAGES,
  })
    .sort(([a], [b]) => a < b ? -1 : 1),
);

/**
 * Returns the command that installs an optional package of `@trellis/fn`.
 *
 * @returns The command; `undefined` for other packages.
 */
export function getInstallCommand(name: string): string | undefined {
  return Object.hasOwn(OPTIONAL_PACKAGES, name)
    ? `npm install "${name}@${OPTIONAL_PACKAGES[name]}"`
    : undefined;
}
