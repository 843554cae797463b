import { assertEquals } from "@std/assert";
import { isLocal } from "../../../cli/database/confirm_remote.ts";
import type { DatabaseConfig } from "../../../database/mod.ts";
import { withEnv } from "../../support/with_env.ts";

const url = (connectionString: string): DatabaseConfig => ({
  provider: "serverless-pg",
  connectionString,
});
const LOCAL: DatabaseConfig[] = [
  { provider: "embedded-pg", connectionString: "./data" },
  url("postgres://localhost/a"),
  url("postgres://app:p%40ss@127.0.0.1:5432/a"),
  url("postgres://app:p@ss@127.9.9.9/a"),
  url("postgresql://[::1]:5432/a"),
  url("postgres://db.localhost/a"),
  url("postgres:///a?host=/var/run/postgresql"),
  { provider: "distsql", endpoint: "127.0.0.1" },
  { provider: "postgres", host: "::1", username: "app" },
  { provider: "postgres", host: "localhost", port: 5433, username: "app" },
];
const REMOTE: DatabaseConfig[] = [
  url("postgres://db.example.com/a"),
  url("postgres://localhost@db.example.com/a"),
  url("postgres://127.0.0.1:x@10.0.0.7/a"),
  url("postgres://localhost.example.com/a"),
  url("postgres://localhost,db.example.com/a"),
  url("postgres://localhost/a?host=db.example.com"),
  url("postgres://db.example.com/a?host=localhost"),
  url("postgres://localhost/a?host=localhost&host=db.example.com"),
  url("postgres:///a?host=/tmp&hostaddr=192.0.2.1"),
  url("postgres://0.0.0.0/a"),
  url("rds-data://arn:aws:rds:eu-central-1:1:cluster:c?secretArn=s&database=a"),
  { provider: "branching-pg", connectionString: "postgres://u@ep-1.eu-central-1.aws.neon.tech/a" },
  { provider: "postgres", host: "db", username: "app" },
  { provider: "distsql", endpoint: "abc.dsql.eu-central-1.on.aws" },
];

Deno.test("isLocal() distinguishes databases of this machine from all others", async () => {
  await withEnv({ AWS_ENDPOINT_URL_RDS_DATA: undefined, AWS_ENDPOINT_URL: undefined }, () => {
    for (const config of LOCAL) assertEquals(isLocal(config), true, JSON.stringify(config));
    for (const config of REMOTE) assertEquals(isLocal(config), false, JSON.stringify(config));
  });
});

Deno.test("isLocal() takes the host of PGHOST where the address has none", async () => {
  const config = url("postgres:///a");
  await withEnv({ PGHOST: undefined }, () => assertEquals(isLocal(config), true));
  await withEnv({ PGHOST: "/tmp" }, () => assertEquals(isLocal(config), true));
  await withEnv({ PGHOST: "db.example.com" }, () => assertEquals(isLocal(config), false));
});

Deno.test("isLocal() takes the Data API for local where its endpoint is", async () => {
  const config = url("rds-data://arn:aws:rds:eu-central-1:1:cluster:c?secretArn=s");
  await withEnv(
    { AWS_ENDPOINT_URL_RDS_DATA: "http://127.0.0.1:4566" },
    () => assertEquals(isLocal(config), true),
  );
  await withEnv(
    { AWS_ENDPOINT_URL_RDS_DATA: "https://rds.example.com" },
    () => assertEquals(isLocal(config), false),
  );
});
