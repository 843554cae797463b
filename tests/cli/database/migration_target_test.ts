import type { DatabaseSettings } from "../../../database/config/config.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { findMigrationsOrLocal } from "../../../cli/database/migration_target.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { withEnv } from "../../support/with_env.ts";

const NO_DATABASE = {
  DATABASE_URL: undefined,
  DATABASE_ENDPOINT: undefined,
  DATABASE_HOST: undefined,
  DATABASE_PROVIDER: undefined,
};

Deno.test("findMigrationsOrLocal() finds the database of trellis dev when none is configured", async () => {
  const root = await Deno.makeTempDir();
  const dataDir = join(root, ".trellis", "dev");
  const context = { options: {}, root, cwd: root } as unknown as CommandContext;
  try {
    await Deno.mkdir(join(root, "migrations"));
    await withEnv(NO_DATABASE, async () => {
      await assertRejects(
        () => findMigrationsOrLocal(context),
        ConfigurationError,
        "No database is",
      );
      await Deno.mkdir(join(dataDir, "pg"), { recursive: true });
      const { target, label, release } = await findMigrationsOrLocal(context);
      const { connectionString }: DatabaseSettings = target.database;
      assertEquals(connectionString, join(dataDir, "pg"));
      assertEquals(label, "embedded-pg .trellis/dev/pg, the database of trellis dev");
      assertEquals(Deno.readTextFileSync(join(dataDir, "lock")), String(Deno.pid));
      release();
      // a running process that is not this one
      Deno.writeTextFileSync(join(dataDir, "lock"), String(Deno.ppid));
      await assertRejects(
        () => findMigrationsOrLocal(context),
        ConfigurationError,
        "is open in trellis dev",
      );
    });
    await withEnv({ ...NO_DATABASE, DATABASE_URL: "postgres://app@db/notes" }, async () => {
      assertEquals(
        (await findMigrationsOrLocal(context)).label,
        "postgres postgres://app@db/notes",
      );
    });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
