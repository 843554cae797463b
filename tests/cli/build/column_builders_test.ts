import { assert, assertEquals, assertFalse } from "@std/assert";
import { join } from "node:path";
import { mayUseColumnBuilders } from "../../../cli/build/column_builders.ts";
import { denoProjectFiles, writeTestProject } from "./project.ts";

const IMPORT = `import { pgTable, text, uuid } from "drizzle-orm/pg-core";\n`;
const TABLE = `var notes = pgTable("notes", { id: uuid("id"), title: text("title") });\n`;

const WITHOUT: readonly string[] = [
  `import { handle } from "@trellis/fn/validation"; handle(1);`,
  `${IMPORT}${TABLE}`,
  `import { eq } from "drizzle-orm"; import * as z from "zod"; import "node:fs";\n${IMPORT}${TABLE}`,
  `import { pgTable as pgTable2 } from "drizzle-orm/pg-core"; pgTable2("a", { ...{} }, (t) => [t]);`,
  `import { pgEnum } from "drizzle-orm/pg-core"; pgEnum("mood", ["sad"]);`,
  `${IMPORT}${TABLE}import("@aws-sdk/client-s3"); import("@trellis/fn/auth");`,
  `${IMPORT}${TABLE}import("better-auth/plugins/bearer"); import("@better-auth/passkey");`,
];
const WITH: readonly string[] = [
  `${IMPORT}pgTable("notes", (t) => ({ id: t.uuid() }));`,
  `${IMPORT}var columns = { id: uuid("id") }; pgTable("notes", columns);`,
  `${IMPORT}${TABLE}var create = pgTable;`,
  `${IMPORT}pgTable("a", { b: text("b").references(() => pgTable("c", columns).b) });`,
  `import { pgTable as t } from "drizzle-orm/pg-core"; create(t);`,
  `import * as pg from "drizzle-orm/pg-core"; pg.pgTable("a", {});`,
  `import { pgSchema } from "drizzle-orm/pg-core"; pgSchema("a").table("b", {});`,
  `import { pgTableCreator } from "drizzle-orm/pg-core"; pgTableCreator((n) => n)("b", {});`,
  `import { pgView } from "drizzle-orm/pg-core"; pgView("a", {});`,
  `import { getPgColumnBuilders } from "drizzle-orm/pg-core"; getPgColumnBuilders();`,
  `export * from "drizzle-orm/pg-core";`,
  `export { pgTable } from "drizzle-orm/pg-core";`,
  `${IMPORT}export { pgTable };`,
  `${IMPORT}${TABLE}import { users } from "shared-tables"; users;`,
  `${IMPORT}${TABLE}import "shared-tables";`,
  `${IMPORT}${TABLE}import("shared-tables");`,
  `${IMPORT}${TABLE}import(name);`,
  `${IMPORT}${TABLE}var x = __require("drizzle-orm/pg-core");`,
  `import { pgTable } from "drizzle-orm/pg-core/table"; pgTable("a", {});`,
  `import { pgTable } from "npm:drizzle-orm@0.45/pg-core"; pgTable("a", {});`,
];

Deno.test("mayUseColumnBuilders() is false if each table is created from an object", () => {
  for (const code of WITHOUT) assertFalse(mayUseColumnBuilders(code), code);
});

Deno.test("mayUseColumnBuilders() is true if a callback can create a table", () => {
  for (const code of WITH) assert(mayUseColumnBuilders(code), code);
});

const getFunction = (columns: string) =>
  `import { getTableColumns } from "drizzle-orm";
import { getDrizzleClient } from "@trellis/fn/database";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
const notes = pgTable("notes", ${columns});
export async function handler() {
  const types = Object.values(getTableColumns(notes)).map((column) => column.getSQLType());
  return { statusCode: typeof getDrizzleClient === "function" ? 200 : 500, body: types.join() };
}
`;

Deno.test("build keeps only the columns of a function whose tables are created from objects", async () => {
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "trellis.config.ts": `export default { build: { databaseProviders: ["postgres"] } };`,
    "src/functions/standalone/objects.ts": getFunction('{ id: uuid("id"), title: text("title") }'),
    "src/functions/standalone/callback.ts": getFunction(
      '(t) => ({ id: t.uuid("id"), place: t.point("place") })',
    ),
  });
  try {
    const { exitCode, stdout, stderr } = await project.build();
    assertEquals(exitCode, 0, stdout + stderr);
    const read = (name: string) => Deno.readTextFile(join(project.root, `dist/${name}/index.mjs`));
    const [objects, callback] = [await read("Objects"), await read("Callback")];
    assertEquals(["PgPointTuple", "PgUUID"].map((name) => objects.includes(name)), [false, true]);
    assertEquals(["PgPointTuple", "PgUUID"].map((name) => callback.includes(name)), [true, true]);
    const ok = (body: string): object => ({ statusCode: 200, body });
    assertEquals((await project.call("Objects")).answer, ok("uuid,text"));
    assertEquals((await project.call("Callback")).answer, ok("uuid,point"));
  } finally {
    await project.remove();
  }
});
