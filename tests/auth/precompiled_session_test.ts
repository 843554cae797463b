import { assertEquals, assertThrows } from "@std/assert";
import * as original from "../../auth/column_names.ts";
import { COLUMN_NAMES } from "../../auth/precompiled/column_names.ts";
import { assertDefaultTables } from "../../auth/precompiled/session_query.ts";
import { STATEMENTS } from "../../auth/precompiled/session_statements.ts";
import * as lean from "../../auth/precompiled/session_tables.ts";
import * as leanWrites from "../../auth/precompiled/session_writes.ts";
import * as tables from "../../auth/session_tables.ts";
import * as writes from "../../auth/session_writes.ts";
import { getColumns, getTableNames } from "../../database/drizzle_table.ts";
import type { DrizzleClient } from "../../database/mod.ts";
import { createSessionClient } from "../../database/session/client.ts";
import { ConnectionSlots } from "../../database/session/connection_slots.ts";
import type { SqlDriver, Statement } from "../../database/session/driver.ts";
import { ConfigurationError } from "../../errors/mod.ts";

const settings = { schema: { user: tables.authUsers, session: tables.authSessions } };
const at = (ms: number) => new Date(1_800_000_000_000 + ms);

/** Creates a client that records its statements, and answers with a session. */
function createRecorder(): { db: DrizzleClient; sent: Statement[] } {
  const sent: Statement[] = [];
  const driver: SqlDriver = {
    client: undefined,
    run(statement) {
      sent.push(statement);
      const isExtension = statement.text.endsWith('returning "expires_at"');
      const column = isExtension ? { name: "expires_at", type: 1184 } : { name: "id", type: 2950 };
      const value = isExtension ? "2027-01-02 03:04:05.678+00" : "an-id";
      return Promise.resolve({
        columns: [column],
        rows: [[value]],
        command: "UPDATE",
        rowCount: 1,
      });
    },
    transaction: () => Promise.reject(new Error("not used")),
  };
  return { db: createSessionClient(driver, new ConnectionSlots(1), { schema: undefined }), sent };
}

Deno.test("COLUMN_NAMES has the properties of the built-in columns", () => {
  assertEquals(COLUMN_NAMES, original.COLUMN_NAMES);
});

Deno.test("the compiled tables have the names of the built-in ones", () => {
  for (const name of ["authUsers", "authSessions"] as const) {
    const listNames = (table: object) =>
      Object.entries(getColumns(table)).map(([property, column]) => [property, column.name]);
    assertEquals(getTableNames(lean[name]), getTableNames(tables[name]));
    assertEquals(listNames(lean[name]), listNames(tables[name]));
  }
});

Deno.test("compiled writes of sessions send what drizzle sends, and give its rows", async () => {
  const results: unknown[][] = [];
  const sent = await Promise.all([writes, leanWrites].map(async (module, index) => {
    const { db, sent } = createRecorder();
    const client = db as never;
    results[index] = [
      await module.endSession(client, settings, "a token", at(1)),
      await module.extendSession(
        client,
        settings,
        { token: "a token", expiresAt: at(2) },
        { expiresAt: at(3), updatedAt: at(4) },
      ),
    ];
    // unlike those of drizzle, compiled statements are named, because they are prepared
    return sent.map(({ text, params, metadata }) => ({ text, params, metadata }));
  }));
  assertEquals(sent[1], sent[0]);
  assertEquals(results[1], results[0]);
});

Deno.test("the statements of the second file send what the compiled ones send", async () => {
  const { db, sent } = createRecorder();
  const run = (key: string, values: object) =>
    (STATEMENTS[key](db) as { execute(values: object): Promise<unknown> }).execute(values);
  await run("trellis:end_session", { token: "a token", now: at(1) });
  await run("trellis:extend_session", {
    token: "a token",
    found: at(2),
    expiresAt: at(3),
    updatedAt: at(4),
  });
  const compiled = createRecorder();
  await leanWrites.endSession(compiled.db as never, settings, "a token", at(1));
  await leanWrites.extendSession(
    compiled.db as never,
    settings,
    { token: "a token", expiresAt: at(2) },
    { expiresAt: at(3), updatedAt: at(4) },
  );
  const withoutCasts = (statements: Statement[]) =>
    statements.map(({ isCast: _, ...statement }) => statement);
  assertEquals(withoutCasts(sent), withoutCasts(compiled.sent));
});

Deno.test("assertDefaultTables() throws for tables of the application", () => {
  assertDefaultTables(settings.schema);
  const schema = { ...settings.schema, user: { ...tables.authUsers } as typeof tables.authUsers };
  assertThrows(() => assertDefaultTables(schema), ConfigurationError, "build.precompile");
});
