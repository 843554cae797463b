import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { MigrationError } from "../../../database/migrate.ts";
import { runMigrations } from "../../../database/mod.ts";
import {
  createTables,
  nameTables,
  readApplied,
  readUnfinished,
} from "../../../database/migrations/history.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { connectionLost, fakeSession, serverError, withMigrationLab } from "./migration_support.ts";
import { quoteLiteral } from "../../../sql/quote.ts";

Deno.test("nameTables() refuses names that are empty, or too long for the tables that come of them", () => {
  const names: [table: unknown, schema: unknown, message: string][] = [
    ["", "orm", 'MigrateConfig.migrationsTable must be a name of 1 to 57 bytes, got ""'],
    ["t".repeat(58), "orm", "MigrateConfig.migrationsTable must be a name of 1 to 57 bytes"],
    ["ö".repeat(29), "orm", "MigrateConfig.migrationsTable must be a name of 1 to 57 bytes"],
    [7, "orm", "MigrateConfig.migrationsTable must be a name of 1 to 57 bytes, got 7"],
    ["t", "", 'MigrateConfig.migrationsSchema must be a name of 1 to 63 bytes, got ""'],
    ["t", "s".repeat(64), "MigrateConfig.migrationsSchema must be a name of 1 to 63 bytes"],
  ];
  for (const [table, schema, message] of names) {
    const error = assertThrows(
      () => nameTables(table as string, schema as string),
      ConfigurationError,
    );
    assertEquals(error.code, "CONFIGURATION");
    assertStringIncludes(error.message, message);
  }
  const longest = nameTables("t".repeat(57), "s".repeat(63));
  assertEquals(longest.steps, `"${"s".repeat(63)}"."${"t".repeat(57)}_steps"`);
});

Deno.test("nameTables() quotes", () => {
  assertEquals(nameTables('a"b', "Sch ema"), {
    schema: "Sch ema",
    quotedSchema: '"Sch ema"',
    migrations: '"Sch ema"."a""b"',
    steps: '"Sch ema"."a""b_steps"',
    lease: '"Sch ema"."a""b_lease"',
  });
});

Deno.test("literal() comes back from the server as it went, however the server reads backslashes", async () => {
  await withMigrationLab({}, async ({ rows }) => {
    for (const setting of ["on", "off"]) {
      await rows(`SET standard_conforming_strings = ${setting}`);
      for (const text of ["", "it's", "\\", "\\'; DROP TABLE a; --", "\n\t", "ö💡"]) {
        assertEquals(
          (await rows(`SELECT ${quoteLiteral(text)}::text AS text`))[0].text,
          text,
          setting,
        );
      }
    }
  });
});

/** A server that has no tables, and answers the statements that make them. */
function emptyServer(make: (text: string) => void, keepsSession = false) {
  return fakeSession((text) => {
    if (text.startsWith("SELECT count")) return [{ there: 0 }];
    make(text);
    return [];
  }, { keepsSession });
}

Deno.test("createTables() gets through races with other runners, statement by statement and in one message", async () => {
  for (const code of ["23505", "42P06", "42P07", "42710", "40001"]) {
    for (const keepsSession of [false, true]) {
      const made: string[] = [];
      let failures = 0;
      await createTables(
        emptyServer((text) => {
          if (text.includes("_steps") && ++failures === 1) throw serverError(code);
          made.push(text);
        }, keepsSession),
        nameTables(),
      );
      // what failed in a message is made again, each statement for itself
      assertEquals(made.length, keepsSession ? 6 : 4, code);
      assertEquals(failures, 2, code);
    }
  }
});

Deno.test("createTables() gives up when the race does not end, and at once on any other error", async () => {
  for (
    const [code, keepsSession, tries] of [["42P07", false, 6], ["42501", false, 1], [
      "42501",
      true,
      1,
    ]] as const
  ) {
    let failures = 0;
    const error = serverError(code);
    const session = emptyServer(() => {
      failures++;
      throw error;
    }, keepsSession);
    assertEquals(await assertRejects(() => createTables(session, nameTables())), error);
    assertEquals(failures, tries, code);
  }
});

Deno.test("createTables() asks for no rights where the tables are there", async () => {
  const session = fakeSession((text) => {
    if (!text.startsWith("SELECT count")) throw new Error(`ran ${text}`);
    return [{ there: 3 }];
  });
  await createTables(session, nameTables());
});

Deno.test("readApplied() distinguishes no table from one of another tool's table and from a server that refuses", async () => {
  const read = (code: string) =>
    readApplied(fakeSession(() => Promise.reject(serverError(code))), nameTables());
  assertEquals([await read("42P01"), await read("3F000")], [undefined, undefined]);
  const foreign = await assertRejects(() => read("42703"), MigrationError);
  assertStringIncludes(
    foreign.message,
    '"orm"."__orm_migrations" belongs to another tool: set migrationsTable',
  );
  const refused = await assertRejects(() => read("42501"));
  assertEquals((refused as { code?: string }).code, "42501");
  const broken = new TypeError("a fault of the program");
  assertEquals(
    await assertRejects(() => readApplied(fakeSession(() => Promise.reject(broken)), nameTables())),
    broken,
  );
});

Deno.test("readUnfinished() gives nothing without tables, and passes on every other error", async () => {
  const read = (code: string) =>
    readUnfinished(fakeSession(() => Promise.reject(serverError(code))), nameTables());
  assertEquals([await read("42P01"), await read("3F000")], [[], []]);
  assertEquals((await assertRejects(() => read("42501")) as { code?: string }).code, "42501");
});

Deno.test("readApplied() reads a lost answer again", async () => {
  let tries = 0;
  const session = fakeSession(() => {
    if (++tries === 1) throw connectionLost();
    return [{ tag: "0001_a", hash: "h", executed: true, applied_at: "2026-01-02 03:04:05.678+00" }];
  });
  assertEquals(await readApplied(session, nameTables()), [
    { tag: "0001_a", hash: "h", executed: true, appliedAt: new Date("2026-01-02T03:04:05.678Z") },
  ]);
});

Deno.test("runMigrations() refuses times that are no seconds", async () => {
  for (const name of ["lockTimeoutSeconds", "lockTtlSeconds", "jobTimeoutSeconds"]) {
    for (const value of [0, -1, NaN, 1e6, "soon"]) {
      const run = (): Promise<unknown> =>
        runMigrations({
          migrationsFolder: "./no/such/folder",
          database: { provider: "embedded-pg" },
          [name]: value,
        });
      const error = await assertRejects(run, ConfigurationError);
      assertEquals(
        error.message,
        `MigrateConfig.${name} must be a number of seconds above 0, got ${value}`,
      );
    }
  }
});
