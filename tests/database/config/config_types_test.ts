/** The types of configurations: an `@ts-expect-error` without an error below it fails `deno check`. */
import { assertEquals } from "@std/assert";
import type { DatabaseConfig } from "../../../database/mod.ts";

/** The names that an editor offers beside a provider. */
type FieldsOf<TProvider> = keyof Extract<DatabaseConfig, { provider: TProvider }>;

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function proves<_ extends true>(): void {}

type Common =
  | "provider"
  | "schema"
  | "maxConnections"
  | "idleTimeout"
  | "connectTimeout"
  | "statementTimeoutSeconds"
  | "instrument"
  | "prepare"
  | "ca";

Deno.test("DatabaseConfig has the fields of its provider only", () => {
  proves<
    Equal<FieldsOf<"distsql">, Common | "endpoint" | "region" | "username" | "isAdmin">
  >();
  proves<Equal<FieldsOf<"embedded-pg">, Common | "connectionString">>();
  proves<Equal<FieldsOf<"branching-pg">, Common | "connectionString">>();
  proves<Equal<FieldsOf<"serverless-pg">, Common | "connectionString" | "region">>();
  const configs: DatabaseConfig[] = [
    { provider: "embedded-pg" },
    { provider: "distsql", endpoint: "abc.dsql.eu-central-1.on.aws", username: "app" },
    { provider: "postgres", host: "localhost", username: "app", password: () => "x" },
    { provider: "branching-pg", connectionString: "postgres://a@b/c", maxConnections: 2 },
    // @ts-expect-error a cluster has no connection string
    { provider: "distsql", connectionString: "postgres://a@b/c" },
    // @ts-expect-error endpoint belongs to distsql
    { provider: "postgres", endpoint: "abc.dsql.eu-central-1.on.aws" },
    // @ts-expect-error host belongs to postgres
    { provider: "embedded-pg", host: "localhost" },
    // @ts-expect-error isAdmin belongs to distsql
    { provider: "serverless-pg", isAdmin: true },
    // @ts-expect-error no such provider
    { provider: "mysql" },
  ];
  assertEquals(configs.length, 9);
});
