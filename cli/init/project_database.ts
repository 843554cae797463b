import { withoutMargin } from "./margin.ts";
import type { DatabaseName } from "./project_choices.ts";
import type { VERSIONS } from "./versions.ts";

/** What distinguishes projects for one database from those for others. */
export interface ProjectDatabase {
  /** Text of `src/database.ts`. */
  readonly source: string;
  /** Packages that functions use. */
  readonly packages: readonly (keyof typeof VERSIONS)[];
  /** Packages that only commands use. */
  readonly tools: readonly (keyof typeof VERSIONS)[];
  /** Lines of `infra`. */
  readonly infra: readonly string[];
  /** True if each function signs in as its own database role. */
  readonly hasRoles: boolean;
  /** Lines of `.env.example`. */
  readonly envExample: string;
}

/** The AWS client that reads secrets. */
export const SECRETS_CLIENT = "@aws-sdk/client-secrets-manager";

const QUERIES = "|export const { defineQuery, defineStatement } = createQueryFactory(getDb);\n";

const DISTSQL = withoutMargin(
  `|import { createQueryFactory, type DatabaseConfig, getDrizzleClient } from "@trellis/fn/database";
|import { getOptionalEnv } from "@trellis/fn/env";
|import * as schema from "./schema.ts";
|
|const endpoint = getOptionalEnv("DATABASE_ENDPOINT");
|
|/** Aurora DSQL if an endpoint is set, else an embedded PostgreSQL in a folder or in memory. */
|export const databaseConfig = (endpoint === undefined
|  ? { provider: "embedded-pg", connectionString: getOptionalEnv("DATABASE_URL", ".trellis/pg"), schema }
|  : {
|    provider: "distsql",
|    endpoint,
|    region: getOptionalEnv("DATABASE_REGION"),
|    username: getOptionalEnv("DATABASE_USERNAME"),
|    ca: getOptionalEnv("DATABASE_CA"),
|    schema,
|  }) satisfies DatabaseConfig;
|
|export const getDb = () => getDrizzleClient(databaseConfig);
|
${QUERIES}`,
);

/** How a function finds its database by the connection string in `DATABASE_URL`. */
interface AddressParts {
  /** The database in a comment. */
  readonly title: string;
  readonly provider: string;
  /** A regular expression for connection strings. */
  readonly pattern: string;
  /** True if the connection string is a secret. */
  readonly isSecret: boolean;
}

function renderByAddress({ title, provider, pattern, isSecret }: AddressParts): string {
  return withoutMargin(
    `|import { createQueryFactory, type DatabaseConfig, getDrizzleClient } from "@trellis/fn/database";
|import { getOptionalEnv${isSecret ? ", loadSources" : ""} } from "@trellis/fn/env";
|import * as schema from "./schema.ts";
|
${
      isSecret
        ? "|// deployed: reads DATABASE_URL from AWS Secrets Manager\n|await loadSources();\n|\n"
        : ""
    }|/** ${title} if DATABASE_URL is its address, else an embedded PostgreSQL in a folder or in memory. */
|export function getDatabaseConfig() {
|  const connectionString = getOptionalEnv("DATABASE_URL", ".trellis/pg");
|  return (${pattern}.test(connectionString)
|    ? { provider: "${provider}", connectionString, schema }
|    : { provider: "embedded-pg", connectionString, schema }) satisfies DatabaseConfig;
|}
|
|${
      isSecret
        ? "// the address is read at each call, because a secret can be rotated\n|"
        : ""
    }export const getDb = () => getDrizzleClient(getDatabaseConfig());
|
${QUERIES}`,
  );
}

/** A database whose connection string has a password. */
function describePostgres(
  { title, provider }: Pick<AddressParts, "title" | "provider">,
  driver: keyof typeof VERSIONS,
  address: string,
): ProjectDatabase {
  return {
    source: renderByAddress({ title, provider, pattern: "/^postgres(?:ql)?:/", isSecret: true }),
    packages: [SECRETS_CLIENT, driver],
    tools: [],
    infra: [],
    hasRoles: true,
    envExample: `# Deployed only: ${address}\nDATABASE_URL=\n`,
  };
}

/** The databases that a new project can be deployed to. All of them are developed and tested on the embedded database. */
export const PROJECT_DATABASES: Readonly<Record<DatabaseName, ProjectDatabase>> = {
  postgres: describePostgres(
    { title: "PostgreSQL", provider: "postgres" },
    "postgres",
    "postgres://user:password@host:5432/database",
  ),
  "aurora-dsql": {
    source: DISTSQL,
    packages: ["postgres"],
    // signs with profiles of this machine; functions sign with the variables that Lambda sets
    tools: ["@aws-sdk/dsql-signer"],
    infra: [],
    hasRoles: true,
    envExample:
      "# Deployed only: host name of the cluster and database role of the function.\nDATABASE_ENDPOINT=\nDATABASE_USERNAME=\n",
  },
  neon: describePostgres(
    { title: "Neon", provider: "branching-pg" },
    "@neondatabase/serverless",
    "postgres://user:password@host/database, for functions with the host that ends with -pooler",
  ),
  "rds-data": {
    source: renderByAddress({
      title: "The Data API of an Aurora cluster",
      provider: "serverless-pg",
      pattern: "/^rds-data:/",
      isSecret: false,
    }),
    // the provider can also connect to the cluster directly
    packages: ["@aws-sdk/client-rds-data", "postgres"],
    tools: [],
    infra: [
      "// an Aurora cluster that exists: its address is in variables of each stage",
      'database: "data-api",',
    ],
    hasRoles: false,
    envExample:
      "# Deployed only: rds-data://<cluster ARN>?secretArn=<secret ARN>&database=<name>\nDATABASE_URL=\n",
  },
};
