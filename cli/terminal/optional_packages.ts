import { AUTH_PACKAGES } from "../../auth/better_auth/optional_packages.ts";
import { CLIENT_PACKAGES } from "../../client/optional_packages.ts";
import { DATABASE_PACKAGES } from "../../database/config/optional_packages.ts";
import { ENV_PACKAGES } from "../../env/optional_packages.ts";
import { IDEMPOTENCY_PACKAGES } from "../../idempotency/optional_packages.ts";
import { JOBS_PACKAGES } from "../../jobs/optional_packages.ts";
import { MAIL_PACKAGES } from "../../mail/optional_packages.ts";
import { REALTIME_PACKAGES } from "../../realtime/optional_packages.ts";
import { TESTING_PACKAGES } from "../../distsql/server/optional_packages.ts";
import { UPLOAD_PACKAGES } from "../../uploads/optional_packages.ts";
import { ROUTER_PACKAGES } from "../../router/optional_packages.ts";

/** Optional packages of the command line, with their supported versions. */
export const CLI_PACKAGES = {
  "@aws-sdk/client-cloudwatch": "^3",
  "@aws-sdk/client-lambda": "^3",
  "acorn": "^8.19.0",
  "esbuild": ">=0.28.2 <1",
  "swagger-ui-dist": "^5.35.0",
  "yaml": "^2.9.1",
  "ws": "^8.23.0",
} as const;

/** All optional packages, which are optional peers of the npm package, sorted by name. */
export const OPTIONAL_PACKAGES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    ...AUTH_PACKAGES,
    ...CLI_PACKAGES,
    ...CLIENT_PACKAGES,
    ...DATABASE_PACKAGES,
    ...ENV_PACKAGES,
    ...IDEMPOTENCY_PACKAGES,
    ...JOBS_PACKAGES,
    ...MAIL_PACKAGES,
    ...ROUTER_PACKAGES,
    ...REALTIME_PACKAGES,
    ...TESTING_PACKAGES,
    ...UPLOAD_PACKAGES,
  })
    .sort(([a], [b]) => a < b ? -1 : 1),
);
