import { assert, assertEquals } from "@std/assert";
import { type PgTable, pgTable, text } from "drizzle-orm/pg-core";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
} from "../../auth/schema.ts";
import { EMAIL, openSignUpLab } from "./sign_up_lab.ts";

const { faulty, lines, execute, open, signUp, countSignUp, countWarm } = await openSignUpLab();

Deno.test("a sign-up answers what the database stores in the user's columns", async () => {
  const user = pgTable("users", {
    ...AUTH_USER_COLUMNS,
    locale: text("locale").notNull().default("unused"),
  });
  await execute(`alter table users add locale text not null default 'en';
    create function rename_user() returns trigger language plpgsql as $$
      begin new.name := upper(new.name); return new; end $$;
    create trigger rename_user before insert on users for each row execute function rename_user()`);
  const auth = open({
    schema: { user: user as PgTable as never },
    user: { additionalFields: { locale: { type: "string", required: false } } },
    session: { cookieCache: { enabled: true } },
  });
  const response = await signUp(auth);

  const { user: answered } = await response.json();
  const [found] = await execute("select name, locale, created_at from users");
  assertEquals([answered.name, answered.locale], [found.name, found.locale]);
  assertEquals([found.name, found.locale], ["ADA", "en"]);
  assertEquals(new Date(answered.createdAt), found.created_at);
  const data = response.headers.getSetCookie().find((each) => each.includes("session_data"))!;
  const cached = JSON.parse(atob(data.split("=")[1].split(/[.;]/)[0]));
  assertEquals(cached.session.user.name, "ADA");
});

Deno.test("a sign-up by one statement satisfies foreign keys, and triggers find the rows before", async () => {
  for (const [table, mode] of [["accounts", ""], ["sessions", "deferrable initially deferred"]]) {
    await execute(`alter table ${table} add foreign key (user_id) references users ${mode}`);
  }
  await execute(`alter table sessions add seen text;
    create function look() returns trigger language plpgsql as $$
      begin new.seen := (select count(*) from users join accounts on users.id = user_id
        where users.id = new.user_id); return new; end $$;
    create trigger look before insert on sessions for each row execute function look()`);
  assertEquals(await countWarm(), [200, 2]);
  assertEquals(await execute("select distinct seen from sessions"), [{ seen: "1" }]);
});

/** Triggers of tables that change what the other rows contain. */
const CHANGES: readonly (readonly [name: string, table: string, body: string])[] = [
  ["replaces the user's id", "users", "new.id := gen_random_uuid(); return new;"],
  [
    "stores a session for another user",
    "sessions",
    "new.user_id := gen_random_uuid(); return new;",
  ],
];

for (const [name, table, body] of CHANGES) {
  Deno.test(`a sign-up runs in a transaction if a trigger ${name}`, async () => {
    await execute(`create function change() returns trigger language plpgsql as $$
        begin ${body} end $$;
      create trigger change before insert on ${table} for each row execute function change()`);
    // one statement is tried by the first sign-up only
    assertEquals(await countWarm(), [200, 4]);
    const rows = await execute("select distinct user_id = account_id::uuid as same from accounts");
    assertEquals(rows, [{ same: true }]);
    assertEquals((await execute("select 1 from users")).length, 3);
  });
}

Deno.test("a sign-up is one statement if the user's id has another type than its copies", async () => {
  await execute("alter table users alter id drop default, alter id type text");
  const user = pgTable("users", { ...AUTH_USER_COLUMNS, id: text("id").primaryKey() });
  assertEquals(await countWarm({ schema: { user: user as never } }), [200, 2]);
});

Deno.test("a sign-up runs in a transaction if a trigger replaces an id that other columns have as text", async () => {
  const columns = { userId: text("owner").notNull() };
  const session = pgTable("sessions", { ...AUTH_SESSION_COLUMNS, ...columns });
  const account = pgTable("accounts", { ...AUTH_ACCOUNT_COLUMNS, ...columns });
  await execute(`alter table sessions alter user_id drop not null, add owner text;
    alter table accounts alter user_id drop not null, add owner text;
    create function change() returns trigger language plpgsql as $$
      begin new.id := gen_random_uuid(); return new; end $$;
    create trigger change before insert on users for each row execute function change()`);
  const auth = open({ schema: { session: session as never, account: account as never } });
  assertEquals((await signUp(auth)).status, 200);
  assertEquals(
    await execute(`select 1 as found from users join sessions s on s.owner = users.id::text
      join accounts a on a.owner = s.owner`),
    [{ found: 1 }],
  );
});

Deno.test("a sign-up answers as better-auth if a trigger leaves rows out", async () => {
  await execute(`create function leave_out() returns trigger language plpgsql as
      'begin return null; end';
    create trigger leave_out before insert on users for each row execute function leave_out()`);
  const auth = open();
  assertEquals((await signUp(auth)).status, 400);
  assertEquals(await execute("select 1 from accounts"), []);
  await execute("drop trigger leave_out on users");
  assertEquals((await signUp(auth)).status, 200);
});

Deno.test("a sign-up stores an id as its column does", async () => {
  const id = crypto.randomUUID();
  const auth = open({
    advanced: {
      database: {
        generateId: ({ model }) => model === "user" ? id.toUpperCase() : crypto.randomUUID(),
      },
    },
  });
  const { user } = await (await signUp(auth)).json();
  const [found] = await execute(
    "select users.id::text, account_id from users join accounts on users.id = user_id",
  );
  assertEquals([user.id, found.id, found.account_id], [id, id, id]);
});

Deno.test("concurrent sign-ups create one account, and the next one is one statement again", async () => {
  const auth = open();
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async () => (await signUp(auth)).status),
  );
  assertEquals(statuses.sort(), [200, ...Array(7).fill(422)]);
  const counts = await Promise.all(
    ["users", "accounts", "sessions"].map((table) => execute(`select 1 from ${table}`)),
  );
  assertEquals(counts.map(({ length }) => length), [1, 1, 1]);
  assertEquals(await countSignUp(auth, "bob@example.com"), [200, 2]);
});

/** Makes each insert of a user that reaches the table count, also if it is rolled back. */
const COUNT_INSERTS = `create sequence attempts;
  create function count_attempt() returns trigger language plpgsql as $$
    begin perform nextval('attempts'); return new; end $$;
  create trigger count_attempt before insert on users for each row execute function count_attempt()`;

Deno.test("a sign-up after one with a conflict is one statement again", async () => {
  await execute(`create sequence attempts;
    create function conflict() returns trigger language plpgsql as $$ begin
      if nextval('attempts') = 1 then raise exception using errcode = '40001'; end if;
      return new; end $$;
    create trigger conflict before insert on sessions for each row execute function conflict()`);
  const auth = open();
  for (const name of ["first", "second"]) {
    assertEquals((await signUp(auth, `${name}@example.com`)).status, 200);
  }
  assertEquals(await countSignUp(auth, EMAIL), [200, 2]);
});

Deno.test("a sign-up is not repeated if the connection is lost before the answer", async () => {
  await execute(COUNT_INSERTS);
  const auth = open();
  await signUp(auth, "warm@example.com");
  faulty.onceAnswered(EMAIL, () => faulty.cut());
  const response = await signUp(auth);
  assertEquals([response.status, response.headers.getSetCookie()], [500, []]);
  assertEquals(await execute("select last_value from attempts"), [{ last_value: "2" }]);
});

Deno.test("a sign-up is not repeated if the server cancels its statement", async () => {
  await execute(COUNT_INSERTS);
  await execute(`create function fail() returns trigger language plpgsql as $$
      begin raise exception using errcode = '57014'; end $$;
    create trigger fail before insert on sessions for each row execute function fail()`);
  assertEquals((await signUp(open())).status, 500);
  assertEquals(await execute("select last_value from attempts"), [{ last_value: "1" }]);
});

Deno.test("a failed sign-up logs neither SQL nor values", async () => {
  await execute("alter table users add constraint refused check (email <> 'ada@example.com')");
  assertEquals((await signUp(open())).status, 422);
  const logged = lines.join("");
  assert(logged.includes("Failed to create user"), logged);
  assert(!/insert into|correct horse|ada@example/.test(logged), logged);
});
