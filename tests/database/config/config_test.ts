import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { checkDatabaseConfig } from "../../../database/config/check_config.ts";
import {
  type DatabaseConfig,
  getConnectionKey,
  getRegion,
} from "../../../database/config/config.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

const HOST = "abc123.dsql.eu-central-1.on.aws";
const URL = "postgres://app:hunter2@db.example/app";

const wrong: [name: string, config: Record<string, unknown>, message: string[]][] = [
  ["an unknown provider", { provider: "mysql" }, ["provider", '"mysql"', "distsql"]],
  ["no provider", {}, ["provider", "undefined"]],
  ["an unknown field", { provider: "embedded-pg", conectionString: "x" }, [
    '"conectionString"',
    "connectionString",
  ]],
  ["a prototype's field", { provider: "embedded-pg", toString: "x" }, ['"toString"']],
  ["a wrong type", { provider: "embedded-pg", maxConnections: "3" }, [
    "maxConnections",
    '"3"',
    "number",
  ]],
  ["no connections", { provider: "embedded-pg", maxConnections: 0 }, [
    "maxConnections",
    "0",
    "from 1",
  ]],
  ["half a connection", { provider: "embedded-pg", maxConnections: 1.5 }, [
    "maxConnections",
    "1.5",
  ]],
  ["a timeout of nothing", { provider: "embedded-pg", connectTimeout: 0 }, ["connectTimeout", "0"]],
  ["a timeout that is no number", { provider: "embedded-pg", idleTimeout: NaN }, [
    "idleTimeout",
    "NaN",
  ]],
  ["a statement that may take no time", { provider: "embedded-pg", statementTimeoutSeconds: 0 }, [
    "statementTimeoutSeconds",
    "seconds above 0",
    "got 0",
  ]],
  ["a statement time that is too long", { provider: "embedded-pg", statementTimeoutSeconds: 1e6 }, [
    "1000000",
  ]],
  ["a statement time that is a text", { provider: "embedded-pg", statementTimeoutSeconds: "60" }, [
    '"60"',
    "number",
  ]],
  ["distsql without endpoint", { provider: "distsql", username: "app" }, ["endpoint", "missing"]],
  ["an empty endpoint", { provider: "distsql", endpoint: "", username: "app" }, [
    "endpoint",
    "empty",
  ]],
  ["an endpoint with a scheme", {
    provider: "distsql",
    endpoint: `https://${HOST}`,
    username: "app",
  }, ["endpoint"]],
  ["distsql without username", { provider: "distsql", endpoint: HOST }, ["username", "isAdmin"]],
  ["admin by name alone", { provider: "distsql", endpoint: HOST, username: "admin" }, [
    "username",
    "isAdmin: true",
  ]],
  ["admin with a role", { provider: "distsql", endpoint: HOST, username: "app", isAdmin: true }, [
    "username",
    '"app"',
  ]],
  ["a region that is none", {
    provider: "distsql",
    endpoint: HOST,
    username: "a",
    region: "Europe",
  }, ['"Europe"']],
  ["another region", { provider: "distsql", endpoint: HOST, username: "a", region: "eu-west-1" }, [
    "eu-west-1",
    "eu-central-1",
  ]],
  ["no region to be found", { provider: "distsql", endpoint: "127.0.0.1:5433", username: "a" }, [
    "region",
    "127.0.0.1",
  ]],
  ["distsql with a connection string", {
    provider: "distsql",
    endpoint: HOST,
    username: "a",
    connectionString: URL,
  }, [
    "connectionString",
    "distsql",
  ]],
  ["an endpoint for another provider", { provider: "embedded-pg", endpoint: HOST }, [
    "endpoint",
    "distsql",
  ]],
  ["branching-pg without connection string", { provider: "branching-pg" }, [
    "connectionString",
    "postgres://",
  ]],
  ["branching-pg with the Data API", {
    provider: "branching-pg",
    connectionString: "rds-data://arn",
  }, ["rds-data"]],
  ["serverless-pg with a folder", { provider: "serverless-pg", connectionString: "./data" }, [
    "rds-data://",
  ]],
  ["embedded-pg with a server", { provider: "embedded-pg", connectionString: URL }, [
    "folder",
    "postgres",
  ]],
];
for (const [name, config, parts] of wrong) {
  Deno.test(`checkDatabaseConfig() names field, value and fix when it gets ${name}`, () => {
    const error = assertThrows(
      () => checkDatabaseConfig(config as unknown as DatabaseConfig),
      ConfigurationError,
    );
    for (const part of parts) assertStringIncludes(error.message, part);
    assertEquals(error.message.includes("hunter2"), false);
  });
}

const right: DatabaseConfig[] = [
  { provider: "distsql", endpoint: HOST, username: "app" },
  { provider: "distsql", endpoint: HOST, isAdmin: true },
  { provider: "distsql", endpoint: HOST, isAdmin: true, username: "admin" },
  {
    provider: "distsql",
    endpoint: "127.0.0.1:5433",
    region: "eu-central-1",
    username: "app",
    isAdmin: false,
  },
  { provider: "serverless-pg", connectionString: URL },
  {
    provider: "serverless-pg",
    connectionString: "rds-data://arn:aws:rds:eu-central-1:1:cluster:c?secretArn=x",
  },
  {
    provider: "branching-pg",
    connectionString: URL,
    maxConnections: 5,
    idleTimeout: 0.5,
    schema: {},
  },
  { provider: "embedded-pg" },
  { provider: "serverless-pg", connectionString: URL, statementTimeoutSeconds: 0.5 },
  { provider: "embedded-pg", statementTimeoutSeconds: 600 },
  { provider: "embedded-pg", connectionString: "C:\\data", isAdmin: false } as DatabaseConfig,
  { provider: "embedded-pg", connectionString: "memory://x", ca: undefined },
];
Deno.test("checkDatabaseConfig() gives back what is right", () => {
  for (const config of right) assertEquals(checkDatabaseConfig(config), config);
});

Deno.test("getRegion() reads the region from the endpoint, also from one in a private network", () => {
  assertEquals(getRegion({ provider: "distsql", endpoint: HOST }), "eu-central-1");
  assertEquals(
    getRegion({ provider: "distsql", endpoint: "abc.dsql-x1y2.us-gov-west-1.on.aws" }),
    "us-gov-west-1",
  );
  assertEquals(
    getRegion({ provider: "distsql", endpoint: "127.0.0.1:1", region: "us-east-1" }),
    "us-east-1",
  );
});

Deno.test("getConnectionKey() ignores the order of fields, the schema and defaults", () => {
  assertEquals(
    getConnectionKey({
      provider: "embedded-pg",
      connectionString: "memory://",
      schema: {},
      instrument: false,
    }),
    getConnectionKey({ isAdmin: false, provider: "embedded-pg" }),
  );
});
