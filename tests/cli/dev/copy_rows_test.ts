import { assertEquals } from "@std/assert";
import type { PGlite } from "@electric-sql/pglite";
import { copyRows } from "../../../cli/dev/copy_rows.ts";
import { createTestDatabase } from "../../../testing/database.ts";

interface Outcome {
  readonly lost: readonly string[];
  readonly rows: readonly unknown[];
}

/** Copies the rows of a database with some statements into one with others, and reads the result. */
async function copy(before: string, after: string, read: string): Promise<Outcome> {
  const [from, to] = [await createTestDatabase(), await createTestDatabase()];
  const [old, next] = [from, to].map(({ db }) =>
    (db as unknown as { readonly $client: PGlite }).$client
  );
  try {
    await old.exec(before);
    await next.exec(after);
    const lost = await copyRows(old, next);
    return { lost, rows: (await next.query(read)).rows };
  } finally {
    await from.close();
    await to.close();
  }
}

Deno.test("copyRows() keeps values of all kinds, in the columns that both tables have", async () => {
  const columns =
    "id bigint generated always as identity primary key, price numeric, at timestamptz, " +
    "raw bytea, tags text[], data jsonb, twice numeric generated always as (price * 2) stored";
  const { lost, rows } = await copy(
    `create table items (${columns}, body text);
     insert into items (price, at, raw, tags, data) values
       (12345678901234567890.10, '2026-01-02 03:04:05.678901+00', '\\x00ff', '{"a,b",null}', '{"n": 1.10}');`,
    `create table items (${columns}, done boolean not null default false);`,
    "select id::text, price::text, at::text = '2026-01-02 03:04:05.678901+00' as at, raw::text, " +
      "tags::text, data::text, twice::text, done from items",
  );
  assertEquals(lost, []);
  assertEquals(rows, [{
    id: "1",
    price: "12345678901234567890.10",
    at: true,
    raw: "\\x00ff",
    tags: '{"a,b",NULL}',
    data: '{"n": 1.10}',
    twice: "24691357802469135780.20",
    done: false,
  }]);
});

Deno.test("copyRows() names the rows and values that do not fit, without their content", async () => {
  const { lost, rows } = await copy(
    `create table notes (id int primary key, body text, owner text);
     insert into notes values (1, 'secret', 'ada'), (2, null, 'ada'), (3, 'long secret', null);
     create table gone (id int); insert into gone values (1), (2);`,
    `create table notes (id int primary key, body varchar(6) not null);`,
    "select id, body from notes",
  );
  assertEquals(rows, [{ id: 1, body: "secret" }]);
  assertEquals(lost, [
    "gone: 2 rows, because the table is gone",
    "notes.owner: 2 values, because the column is gone",
    "notes: 2 rows (SQLSTATE 22001)",
  ]);
});

Deno.test("copyRows() counts rows that a new unique index or a row of a migration rejects", async () => {
  const { lost, rows } = await copy(
    `create table tags (name text); insert into tags values ('a'), ('a'), ('b');
     create table log (line text); insert into log values ('x');`,
    `create table tags (name text unique); insert into tags values ('b');
     create table log (line text); insert into log values ('first');`,
    "select name from tags union all select line from log order by 1",
  );
  assertEquals(rows, [{ name: "a" }, { name: "b" }, { name: "first" }]);
  assertEquals(lost, [
    "log: 1 row, because migrations fill the table and it has no key",
    "tags: 2 rows, because another row has their key",
  ]);
});

Deno.test("copyRows() follows foreign keys, runs no trigger and continues sequences", async () => {
  const schema = `create table b (id serial primary key, name text);
    create table a (id serial primary key, b int not null references b, parent int references a);
    create function deny() returns trigger language plpgsql as $$ begin raise 'denied'; end $$;`;
  const trigger = "create trigger deny before insert on b for each row execute function deny();";
  const { lost, rows } = await copy(
    `${schema} insert into b (name) values ('x');
     insert into a (id, b, parent) values (1, 1, 2), (2, 1, null);`,
    `${schema}${trigger}`,
    "select a.id, parent, b.name, nextval('b_id_seq')::int as next, tgenabled::text as trigger " +
      "from a join b on b.id = a.b, pg_trigger where tgname = 'deny' order by a.id",
  );
  assertEquals(lost, []);
  assertEquals(rows, [
    { id: 1, parent: 2, name: "x", next: 2, trigger: "O" },
    { id: 2, parent: null, name: "x", next: 3, trigger: "O" },
  ]);
});
