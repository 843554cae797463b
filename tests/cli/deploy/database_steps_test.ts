import { assertEquals, assertRejects } from "@std/assert";
import { migrate } from "../../../cli/deploy/database_steps.ts";
import { type Deployment, StepError } from "../../../cli/deploy/deployment.ts";
import { type Command, ExitCode } from "../../../cli/terminal/command.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";

/** A deployment whose functions read an address from a secret. */
function createDeployment(address: string | undefined, warnings: string[]): Deployment {
  return {
    context: {
      root: "/",
      options: {},
      output: {
        warn: (text: string) => void warnings.push(text),
        yellow: String,
        red: String,
        green: String,
        endProgress() {},
      },
    },
    plan: {
      config: { database: { migrationsDir: "tmp" } },
      sources: { functions: [] },
      secrets: [{ variable: "DATABASE_URL", isSecret: true, service: "secretsmanager" }],
    },
    stage: { name: "dev" },
    terraform: { readOutputs: () => Promise.resolve({}) },
    secrets: { getName: () => "notes-dev/DATABASE_URL", read: () => Promise.resolve(address) },
  } as unknown as Deployment;
}

Deno.test("migrate() compares the shell's database with the one that functions use", async () => {
  const postgres = await startPostgres();
  let count = 0;
  const dbMigrate = {
    name: "db migrate",
    run: () => {
      count++;
      return Promise.resolve({ exitCode: ExitCode.Failed });
    },
  } as unknown as Command;
  const warnings: string[] = [];
  const tryMigrate = (address: string | undefined) =>
    assertRejects(
      () => migrate(createDeployment(address, warnings), dbMigrate),
      StepError,
    );
  try {
    const other = await postgres.createDatabase("other");
    await withEnv({ DATABASE_URL: postgres.url, DATABASE_ENDPOINT: undefined }, async () => {
      assertEquals(
        (await tryMigrate(other)).message,
        "DATABASE_URL of this shell is another database than the functions use (secret " +
          "notes-dev/DATABASE_URL). Nothing was migrated: set DATABASE_URL to the address of the same " +
          "database, or put it with trellis secrets set DATABASE_URL --stage dev < file",
      );
      assertEquals(
        (await tryMigrate("0f".repeat(32))).message,
        "the secret notes-dev/DATABASE_URL is not the address of a database, so no function could " +
          "connect: put the address with trellis secrets set DATABASE_URL --stage dev < file",
      );
      assertEquals(
        (await tryMigrate(`${other}_dropped`)).message,
        "the secret notes-dev/DATABASE_URL is refused by its server (SQLSTATE 3D000), so no function " +
          "could connect: put the address with trellis secrets set DATABASE_URL --stage dev < file",
      );
      assertEquals([count, warnings], [0, []]);

      await tryMigrate(postgres.url);
      // another text for the same database
      await tryMigrate(postgres.url.replace("127.0.0.1", "localhost"));
      assertEquals([count, warnings], [2, []]);

      await tryMigrate(undefined);
      const unchecked = "Whether functions use the database that is migrated was not checked: ";
      assertEquals([count, warnings], [3, [
        `${unchecked}these credentials may not read the secret notes-dev/DATABASE_URL`,
      ]]);
    });
  } finally {
    await postgres.stop();
  }
});
