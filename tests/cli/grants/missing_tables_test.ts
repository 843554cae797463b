import { assertEquals } from "@std/assert";
import { findMissingTables } from "../../../cli/commands/generate_permissions.ts";
import { readDeclaredSchema } from "../../../distsql/schema/fold_statement.ts";
import { DatabaseOperation } from "../../../database/queries/table_permission.ts";

const { Select, Update } = DatabaseOperation;

function createFunction(name: string, table: string, columns: readonly string[] = []) {
  return {
    name,
    file: `src/${name}.ts`,
    usesDatabase: true,
    sequences: [],
    tables: [{
      table: { name: table },
      operations: [Select, Update],
      columns: [{ operation: Select, columns }, { operation: Update, columns }],
      sequences: [],
      neededBy: [],
    }],
  };
}

function listMessages(sql: string, ...functions: ReturnType<typeof createFunction>[]) {
  return findMissingTables(functions, readDeclaredSchema([sql]), "sql")
    .map(({ message, functions }) => `${message}: ${functions.join()}`);
}

Deno.test("findMissingTables() lists a table once, with the functions that need it", () => {
  const [a, b] = [createFunction("A", "notes"), createFunction("B", "notes")];
  assertEquals(listMessages("SELECT 1", a, b), ["no file in sql creates the table notes: A,B"]);
  assertEquals(listMessages('CREATE TABLE "notes" (id int)', a, b), []);
  assertEquals(listMessages("CREATE TABLE n (id int); ALTER TABLE n RENAME TO notes", a), []);
});

Deno.test("findMissingTables() lists columns that no statement adds", () => {
  const fn = createFunction("A", "users", ["id", "role"]);
  assertEquals(listMessages("CREATE TABLE users (id int)", fn), [
    "no file in sql creates the column role of users: A",
  ]);
  const added = "CREATE TABLE users (id int); ALTER TABLE users ADD COLUMN role text";
  assertEquals(listMessages(added, fn), []);
  assertEquals(listMessages("CREATE TABLE users AS SELECT * FROM elsewhere", fn), []);
});
