import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { findDatabase, requireDatabase } from "../../../cli/database/database_target.ts";
import { redactUrl } from "../../../cli/database/to_database_target.ts";
import { resolveConfig } from "../../../cli/config/config.ts";
import { UsageError } from "../../../cli/terminal/command.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

const SECRET = "s3cr3t";
const URL_OF_APP = `postgres://app:${SECRET}@db.example.com:5433/notes?sslmode=verify-full`;
const NEON = `postgres://app:${SECRET}@ep-cool-1.eu-central-1.aws.neon.tech/notes`;
const DATA_API = "rds-data://arn:aws:rds:eu-central-1:1:cluster:c?secretArn=arn:x&database=notes";

type Case = {
  name: string;
  options?: Record<string, string>;
  settings?: Record<string, unknown>;
  env?: Record<string, string>;
  label: string | undefined;
};
const CASES: readonly Case[] = [
  { name: "nothing", label: undefined },
  {
    name: "DATABASE_URL",
    env: { DATABASE_URL: URL_OF_APP },
    label: "postgres postgres://app@db.example.com:5433/notes",
  },
  {
    name: "a host of Neon",
    env: { DATABASE_URL: NEON },
    label: "branching-pg postgres://app@ep-cool-1.eu-central-1.aws.neon.tech/notes",
  },
  {
    name: "the Data API",
    env: { DATABASE_URL: DATA_API },
    label: "serverless-pg rds-data://arn:aws:rds:eu-central-1:1:cluster:c notes",
  },
  { name: "a folder", env: { DATABASE_URL: "./data" }, label: "embedded-pg data" },
  {
    name: "a folder by provider",
    env: { DATABASE_URL: "data", DATABASE_PROVIDER: "embedded-pg" },
    label: "embedded-pg data",
  },
  {
    name: "the parts of an address",
    env: {
      DATABASE_HOST: "db.example.com",
      DATABASE_NAME: "notes",
      DATABASE_USERNAME: "app",
      DATABASE_PASSWORD: SECRET,
    },
    label: "postgres postgres://app@db.example.com:5432/notes",
  },
  {
    name: "the parts of an address beside an endpoint, by provider",
    env: {
      DATABASE_ENDPOINT: "a.dsql.eu-central-1.on.aws",
      DATABASE_HOST: "::1",
      DATABASE_PORT: "6432",
      DATABASE_PROVIDER: "postgres",
    },
    options: { username: "migrator" },
    label: "postgres postgres://migrator@::1:6432/postgres",
  },
  {
    name: "an endpoint",
    env: { DATABASE_ENDPOINT: "a.dsql.eu-central-1.on.aws" },
    label: "distsql admin@a.dsql.eu-central-1.on.aws",
  },
  {
    name: "an endpoint beside a URL, by provider",
    env: {
      DATABASE_ENDPOINT: "a.dsql.eu-central-1.on.aws",
      DATABASE_URL: URL_OF_APP,
      DATABASE_PROVIDER: "distsql",
    },
    label: "distsql admin@a.dsql.eu-central-1.on.aws",
  },
  { name: "settings", settings: { folder: ".data/pg" }, label: "embedded-pg .data/pg" },
  {
    name: "settings of a variable",
    settings: { urlEnv: "APP_DB" },
    env: { APP_DB: NEON, DATABASE_URL: URL_OF_APP },
    label: "branching-pg postgres://app@ep-cool-1.eu-central-1.aws.neon.tech/notes",
  },
  {
    name: "an option before all",
    options: { folder: "x" },
    settings: { folder: "y" },
    env: { DATABASE_URL: URL_OF_APP },
    label: "embedded-pg x",
  },
  {
    name: "another variable",
    options: { "url-env": "OTHER" },
    env: { OTHER: URL_OF_APP, DATABASE_URL: NEON },
    label: "postgres postgres://app@db.example.com:5433/notes",
  },
  {
    name: "a role",
    options: { endpoint: "a.dsql.eu-central-1.on.aws", username: "reader" },
    label: "distsql reader@a.dsql.eu-central-1.on.aws",
  },
];

for (const { name, options = {}, settings = {}, env = {}, label } of CASES) {
  Deno.test(`findDatabase() finds the database of ${name}`, () => {
    const found = findDatabase({
      options,
      settings: resolveConfig({ database: settings }, "trellis.config.ts").database,
      env,
      root: "/project",
    });
    assertEquals(found?.label, label);
    assertEquals(found?.label.includes(SECRET) ?? false, false);
    if (found !== undefined) assertEquals(found.config.instrument, false);
  });
}

Deno.test("findDatabase() takes a clone's target from its own variables", () => {
  const env = { DATABASE_URL: NEON, TARGET_DATABASE_URL: URL_OF_APP };
  assertEquals(
    findDatabase({ options: {}, env, root: "/" }, "to-")?.label,
    "postgres postgres://app@db.example.com:5433/notes",
  );
  assertEquals(
    findDatabase({ options: {}, env: { DATABASE_URL: NEON }, root: "/" }, "to-"),
    undefined,
  );
});

Deno.test("findDatabase() refuses what contradicts itself, and shows no secret", () => {
  const cases: [
    options: Record<string, string>,
    env: Record<string, string>,
    type: typeof UsageError | typeof ConfigurationError,
    message: string,
  ][] = [
    [{ endpoint: "a", folder: "b" }, {}, UsageError, "Use only one of --endpoint and --folder"],
    [
      { endpoint: "a", provider: "embedded-pg" },
      {},
      UsageError,
      "--endpoint requires the provider distsql",
    ],
    [
      { provider: "mysql" },
      {},
      UsageError,
      '--provider must be one of postgres, distsql, serverless-pg, branching-pg, embedded-pg, got "mysql"',
    ],
    [
      { "url-env": URL_OF_APP },
      {},
      UsageError,
      "--url-env expects the name of an environment variable",
    ],
    [
      { "url-env": "MISSING" },
      {},
      ConfigurationError,
      "The environment variable MISSING (--url-env) is not set",
    ],
    [
      {},
      { DATABASE_URL: URL_OF_APP, DATABASE_ENDPOINT: "a" },
      ConfigurationError,
      "both select a database: set DATABASE_PROVIDER",
    ],
    [
      {},
      { DATABASE_URL: `mysql://app:${SECRET}@h/db` },
      ConfigurationError,
      "DATABASE_URL is neither",
    ],
    [
      {},
      { DATABASE_URL: URL_OF_APP, DATABASE_HOST: "db.example.com" },
      ConfigurationError,
      "DATABASE_URL and DATABASE_HOST both select a database",
    ],
    [
      {},
      { DATABASE_HOST: "db.example.com", DATABASE_PORT: "70000" },
      ConfigurationError,
      "DATABASE_PORT must be a whole number from 1 to 65535",
    ],
    [
      {},
      { DATABASE_HOST: "db.example.com", DATABASE_IAM_AUTH: "yes" },
      ConfigurationError,
      'DATABASE_IAM_AUTH must be "true" or "false"',
    ],
    [
      {},
      { DATABASE_PROVIDER: "postgres" },
      ConfigurationError,
      "set DATABASE_URL to a connection string, or DATABASE_HOST to a host name",
    ],
    [
      {},
      { DATABASE_PROVIDER: "distsql" },
      ConfigurationError,
      "set DATABASE_ENDPOINT to the cluster's host name",
    ],
    [
      { folder: "x", "ca-file": "/nowhere/ca.pem" },
      {},
      ConfigurationError,
      "/nowhere/ca.pem (certificate authorities) cannot be read",
    ],
  ];
  for (const [options, env, type, message] of cases) {
    const error = assertThrows(() => findDatabase({ options, env, root: "/" }), type);
    assertStringIncludes(error.message, message);
    assert(!error.message.includes(SECRET), error.message);
  }
});

Deno.test("requireDatabase() names the ways to select a database", () => {
  const error = assertThrows(
    () => requireDatabase({ options: {}, env: {}, root: "/" }, "to-"),
    ConfigurationError,
  );
  assertEquals(
    error.message,
    "No target is configured: set TARGET_DATABASE_URL to a connection string, or use --to-url-env <variable>, --to-endpoint <host> " +
      "(Aurora DSQL) or --to-folder <folder> (embedded)",
  );
});

Deno.test("redactUrl() leaves out passwords and parameters", () => {
  assertEquals(redactUrl(URL_OF_APP), "postgres://app@db.example.com:5433/notes");
  assertEquals(redactUrl("postgres://a b:c d@[bad/x"), "an invalid connection string");
  assertEquals(redactUrl(DATA_API), "rds-data://arn:aws:rds:eu-central-1:1:cluster:c notes");
});

Deno.test("findDatabase() gives the time limit of statements from the settings to every provider", () => {
  const settings =
    resolveConfig({ database: { statementTimeoutSeconds: 300 } }, "trellis.config.ts").database;
  const named: Record<string, string>[] = [{ endpoint: "abc.dsql.eu-central-1.on.aws" }, {
    folder: "x",
  }, {
    "url-env": "DB",
  }];
  for (const options of named) {
    const found = findDatabase({ options, settings, env: { DB: NEON }, root: "/" });
    assertEquals(found?.config.statementTimeoutSeconds, 300);
  }
  const wrong = { database: { statementTimeoutSeconds: 0 } };
  assertThrows(
    () => resolveConfig(wrong, "trellis.config.ts"),
    ConfigurationError,
    "statementTimeoutSeconds",
  );
});
