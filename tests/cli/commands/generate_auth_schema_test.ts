import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { RATE_LIMIT_MIGRATION_SQL } from "../../../database/rate_limits/migration.ts";
import { AUTH_MIGRATION_SQL } from "../../../auth/tables/migration.ts";
import { readConfig } from "../../../cli/config/read_config.ts";
import { checkAuthTables } from "../../../cli/auth_schema/check_tables.ts";
import { build } from "../../../cli/commands/build.ts";
import { dev } from "../../../cli/commands/dev.ts";
import { generatePermissions } from "../../../cli/commands/generate_permissions.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { openAuthDatabase } from "../../auth/auth_database.ts";
import { runInProcess } from "../fixtures/run.ts";
import { authModule, generate, withAuthProject } from "../fixtures/auth_project.ts";

const PLUGINS = `plugins: async () => [(await import("better-auth/plugins/admin")).admin()],`;

const read = (root: string, path: string) => Deno.readTextFile(join(root, path));
const write = (root: string, path: string, text: string) =>
  Deno.writeTextFile(join(root, path), text);

async function list(root: string, folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(join(root, folder)))).map(({ name }) => name).sort();
}

Deno.test("generate auth-schema writes tables and a migration without secrets, and nothing the second time", async () => {
  await withAuthProject({ "src/auth.ts": authModule(PLUGINS) }, async (root) => {
    const first = await generate(root);
    assertEquals([first.exitCode, first.stderr], [0, ""]);
    assertEquals(
      first.stdout,
      "Import { authSchema } from src/auth_schema.ts, set schema: authSchema in the options of defineAuth, " +
        "and export the tables from the client's schema\n" +
        "created src/auth_schema.ts\ncreated migrations/0001_auth_schema.sql\n5 tables: done\n",
    );
    assertStringIncludes(await read(root, "src/auth_schema.ts"), `role: text("role"),`);
    assertEquals(await list(root, "."), ["migrations", "package.json", "src"]);
    const text = await read(root, "src/auth_schema.ts");
    const second = await generate(root);
    assertStringIncludes(second.stdout, "5 tables: everything is up to date");
    assertEquals(await read(root, "src/auth_schema.ts"), text);
    assertEquals(await list(root, "migrations"), ["0001_auth_schema.sql"]);
    assertEquals((await generate(root, "--check")).exitCode, 0);
  });
});

Deno.test("generate auth-schema reads a configuration with mails whose queue is not set", async () => {
  const mails = `import { createAccountMails } from "@trellis/fn/auth";
    import { configureJobs, createSqsDelivery } from "@trellis/fn/jobs";
    configureJobs({ delivery: createSqsDelivery() });
    export const mails = createAccountMails({ getDb: () => null as never, appName: "A" });`;
  const config = `import { mails } from "./mails.ts";\n${authModule("mail: mails,")}`;
  await withAuthProject({ "src/auth.ts": config, "src/mails.ts": mails }, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals([exitCode, stderr], [0, ""]);
  });
});

Deno.test("generate auth-schema creates the tables of AUTH_MIGRATION_SQL where no option adds any", async () => {
  await withAuthProject({ "src/auth.ts": authModule("") }, async (root) => {
    await generate(root);
    const { pglite } = await openAuthDatabase();
    async function describe(): Promise<unknown> {
      const columns = await pglite.query(
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns " +
          "WHERE table_schema = 'public' ORDER BY 1, 2",
      );
      const indexes = await pglite.query(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
      );
      return [columns.rows, indexes.rows];
    }
    const expected = await describe();
    await pglite.exec("DROP TABLE users, sessions, accounts, verification, rate_limits");
    await pglite.exec(await read(root, "migrations/0001_auth_schema.sql"));
    assertEquals(await describe(), expected);
    await pglite.close();
  });
});

Deno.test("generate auth-schema adds only the difference to the file and to the migrations when a plugin is added", async () => {
  const files = {
    "src/auth.ts": authModule(
      `schema: authSchema,`,
      `import { authSchema } from "./auth_schema.ts";`,
    ),
    "migrations/0001_auth.sql":
      `${AUTH_MIGRATION_SQL}\n--> statement-breakpoint\n${RATE_LIMIT_MIGRATION_SQL}`,
    "migrations/0002_notes.sql": `CREATE TABLE "notes" ("id" uuid PRIMARY KEY);`,
  };
  await withAuthProject(files, async (root) => {
    // the configuration imports the file that does not exist yet
    assertEquals((await generate(root)).exitCode, 0);
    assertEquals(await list(root, "migrations"), ["0001_auth.sql", "0002_notes.sql"]);
    await write(
      root,
      "src/auth.ts",
      authModule(
        `schema: authSchema, ${PLUGINS}`,
        `import { authSchema } from "./auth_schema.ts";`,
      ),
    );
    const check = await generate(root, "--check");
    assertEquals(check.exitCode, 1);
    assertStringIncludes(
      check.stdout,
      "stale src/auth_schema.ts\nmissing migrations/0003_auth_schema.sql",
    );
    const { statements } = JSON.parse((await generate(root, "--check", "--json")).stdout);
    assertEquals(statements.length, 5);
    assertEquals(await list(root, "migrations"), ["0001_auth.sql", "0002_notes.sql"]);
    const done = await generate(root);
    assertEquals([done.exitCode, done.stderr], [0, ""]);
    assertEquals(
      (await read(root, "migrations/0003_auth_schema.sql")).split("\n").filter((line) =>
        line.startsWith("ALTER")
      ),
      [
        `ALTER TABLE "sessions" ADD COLUMN "impersonated_by" text;`,
        `ALTER TABLE "users" ADD COLUMN "role" text;`,
        `ALTER TABLE "users" ADD COLUMN "banned" boolean DEFAULT false;`,
        `ALTER TABLE "users" ADD COLUMN "ban_reason" text;`,
        `ALTER TABLE "users" ADD COLUMN "ban_expires" timestamp with time zone;`,
      ],
    );
    const edited = await read(root, "src/auth_schema.ts");
    assertStringIncludes(edited, `...AUTH_USER_COLUMNS,\n  role: text("role"),`);
    assertStringIncludes(edited, `impersonatedBy: text("impersonated_by"),`);
    assertEquals((await generate(root, "--check")).exitCode, 0);
  });
});

/** The configuration with tables of the generated file, and a plugin that adds columns and tables. */
const ORGANIZATIONS = authModule(
  `schema: authSchema,
  plugins: async () => [(await import("better-auth/plugins/organization")).organization({ teams: { enabled: true } })],`,
  `import { authSchema } from "./auth_schema.ts";`,
);

Deno.test("generate auth-schema never changes a file that was not generated", async () => {
  const own = `import { AUTH_USER_COLUMNS } from "@trellis/fn/auth/schema";
import { pgTable, text } from "drizzle-orm/pg-core";
export const users = pgTable("users", { ...AUTH_USER_COLUMNS, region: text("region") });
export const authSchema = { user: users };
`;
  const files = { "src/auth.ts": ORGANIZATIONS, "src/auth_schema.ts": own };
  await withAuthProject(files, async (root) => {
    for (const args of [[], ["--check"]]) {
      const { exitCode, stdout } = await generate(root, ...args);
      assertEquals(exitCode, 1);
      assertStringIncludes(
        stdout,
        "error src/auth_schema.ts was not generated by this command. Move it\n",
      );
    }
    assertEquals(await read(root, "src/auth_schema.ts"), own);
    assertEquals(await list(root, "."), ["package.json", "src"]);
    // under another name, its tables replace the generated ones
    await Deno.rename(join(root, "src/auth_schema.ts"), join(root, "src/users.ts"));
    await write(
      root,
      "src/auth.ts",
      ORGANIZATIONS.replace("schema: authSchema,", "schema: { ...authSchema, user: users },")
        .replace("import", `import { users } from "./users.ts";\nimport`),
    );
    assertEquals((await generate(root)).exitCode, 0);
    const text = await read(root, "src/auth_schema.ts");
    assert(!text.includes(`pgTable("users"`));
    assertStringIncludes(text, `pgTable("organizations"`);
    assertStringIncludes((await generate(root)).stdout, "10 tables: everything is up to date");
  });
});

Deno.test("generate auth-schema names a file that cannot be loaded", async () => {
  await withAuthProject({
    "src/auth.ts": authModule(PLUGINS),
    "src/auth_schema.ts": "export const a = {;",
  }, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertStringIncludes(stderr, 'src/auth_schema.ts:1: Expected identifier but found ";"');
  });
});

Deno.test("generate auth-schema and checkAuthTables() name the line of a module that throws", async () => {
  const files = {
    "src/auth.ts": authModule(PLUGINS, 'import "./tables.ts";'),
    "src/tables.ts": `import { check, pgTable, integer } from "drizzle-orm/pg-core";
const notes = pgTable("notes", { n: integer("n") });
check("positive", (notes as any).missing.getSQL());
`,
  };
  await withAuthProject(files, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    const problem = "src/tables.ts:3: Cannot read properties of undefined (reading 'getSQL')";
    assertStringIncludes(stderr, problem);
    assertEquals(
      await checkAuthTables(root, await readConfig(root)),
      `The auth configuration cannot be checked: ${problem}`,
    );
  });
});

Deno.test("generate auth-schema leaves what a dropped plugin added in the database, and names it", async () => {
  const imports = `import { authSchema } from "./auth_schema.ts";`;
  const files = { "src/auth.ts": authModule(`schema: authSchema, ${PLUGINS}`, imports) };
  await withAuthProject(files, async (root) => {
    await generate(root);
    await write(root, "src/auth.ts", authModule("schema: authSchema,", imports));
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 0);
    for (const column of ["users.role", "users.banned", "sessions.impersonated_by"]) {
      assertStringIncludes(stderr, `${column} is kept: no option or plugin needs it`);
    }
    assert(!(await read(root, "src/auth_schema.ts")).includes("banned"));
    assertEquals(await list(root, "migrations"), ["0001_auth_schema.sql"]);
  });
});

Deno.test("generate auth-schema warns of another type of a column, also in the migration", async () => {
  const files = {
    "src/auth.ts": authModule(PLUGINS),
    "migrations/0001_auth.sql": `${AUTH_MIGRATION_SQL}
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "banned" text;`,
  };
  await withAuthProject(files, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 0);
    const risk = "changes the type from text to boolean: values that do not fit";
    assertStringIncludes(stderr, risk);
    const sql = await read(root, "migrations/0002_auth_schema.sql");
    assertStringIncludes(sql, `-- Warning: ${risk}`);
  });
});

Deno.test("generate auth-schema names the missing columns of a table that another file defines", async () => {
  const files = {
    "src/auth.ts": authModule(
      `${PLUGINS} schema: { user: people },`,
      `import { people } from "./tables.ts";`,
    ),
    "src/tables.ts": `import { pgTable } from "drizzle-orm/pg-core";
import { AUTH_USER_COLUMNS } from "@trellis/fn/auth/schema";
export const people = pgTable("people", AUTH_USER_COLUMNS);`,
  };
  await withAuthProject(files, async (root) => {
    const { exitCode, stdout } = await generate(root);
    assertEquals(exitCode, 1);
    assertStringIncludes(
      stdout,
      `AuthConfig.schema.user is a table of yours, people, and lacks role: text("role"), banned:`,
    );
    assertEquals(await list(root, "."), ["package.json", "src"]);
  });
});

Deno.test("generate auth-schema uses identity columns for serial ids and text for ids of a function", async () => {
  const generateId = (value: string) =>
    authModule(`advanced: { database: { generateId: ${value} } },`);
  await withAuthProject({ "src/auth.ts": generateId(`"serial"`) }, async (root) => {
    await generate(root);
    const sql = await read(root, "migrations/0001_auth_schema.sql");
    assertStringIncludes(sql, `"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,`);
    assertStringIncludes(sql, `"user_id" bigint NOT NULL`);
    assertMatch(
      await read(root, "src/auth_schema.ts"),
      /\.\.\.AUTH_SESSION_COLUMNS,\n {2}id: bigint\("id", \{ mode: "number" \}\)/,
    );
  });
  await withAuthProject({ "src/auth.ts": generateId(`() => "x1"`) }, async (root) => {
    await generate(root);
    const sql = await read(root, "migrations/0001_auth_schema.sql");
    assertStringIncludes(sql, `"id" text PRIMARY KEY,`);
    assertStringIncludes(sql, `"user_id" text NOT NULL`);
  });
});

Deno.test("generate auth-schema adds its migration to drizzle-kit's journal", async () => {
  const journal = {
    version: "7",
    dialect: "postgresql",
    entries: [{
      idx: 0,
      version: "7",
      when: 4_000_000_000_000,
      tag: "0000_auth",
      breakpoints: true,
    }],
  };
  const files = {
    "src/auth.ts": authModule(PLUGINS),
    "migrations/0000_auth.sql": AUTH_MIGRATION_SQL,
    "migrations/meta/_journal.json": JSON.stringify(journal),
  };
  await withAuthProject(files, async (root) => {
    assertEquals((await generate(root)).exitCode, 0);
    const { entries } = JSON.parse(await read(root, "migrations/meta/_journal.json"));
    assertEquals(entries.length, 2);
    assertEquals(entries[1], {
      idx: 1,
      version: "7",
      when: 4_000_000_000_001,
      tag: "0001_auth_schema",
      breakpoints: true,
    });
  });
});

Deno.test("generate auth-schema refuses a connection, several configurations and a missing one", async () => {
  const connecting = `import { configureSessionAuth } from "@trellis/fn/auth";
import { getDrizzleClient } from "@trellis/fn/database";
const db = await getDrizzleClient({ provider: "embedded-pg" });
configureSessionAuth(() => Promise.resolve(db), { secret: "s", baseURL: "http://localhost" });`;
  await withAuthProject({ "src/auth.ts": connecting }, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertStringIncludes(stderr, "getDrizzleClient() was called while the module was loaded");
  });
  await withAuthProject(
    { "src/a.ts": authModule(""), "src/b.ts": authModule("") },
    async (root) => {
      const { exitCode, stderr } = await generate(root);
      assertEquals(exitCode, 3);
      assertStringIncludes(stderr, "src/a.ts, src/b.ts configure 2 different auth instances");
      assertEquals((await generate(root, "--from", "src/b.ts#authConfig")).exitCode, 0);
    },
  );
  const renamed = authModule(`account: { fields: { providerId: "provider_id" } },`);
  await withAuthProject({ "src/auth.ts": renamed }, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertStringIncludes(
      stderr,
      "AuthConfig.account.fields renames providerId, which is not supported",
    );
  });
  await withAuthProject({ "src/notes.ts": "export {};" }, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertStringIncludes(stderr, "No module calls defineAuth");
  });
});

Deno.test("build, dev and generate permissions refuse a configuration whose tables lack what a plugin needs", async () => {
  const handler = `import "../../auth.ts";
import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
export const handler = createAuthHandler(getConfiguredSessionAuth);
`;
  const files = {
    "src/auth.ts": authModule(PLUGINS),
    "src/functions/api/auth/[...path].any.ts": handler,
  };
  const commands = [build, dev, generatePermissions];
  await withAuthProject(files, async (root) => {
    for (const command of commands) {
      const args = [...command.name.split(" "), "--project", root];
      const { exitCode, stderr } = await runInProcess(args, { commands });
      assertEquals(exitCode, 3, command.name);
      assertStringIncludes(stderr, `role, banned, banReason, banExpires of "user"`);
      assertStringIncludes(stderr, "Run trellis generate auth-schema");
    }
    assertEquals(await list(root, "."), ["package.json", "src"]);
    await write(
      root,
      "src/auth.ts",
      authModule(
        `schema: authSchema, ${PLUGINS}`,
        `import { authSchema } from "./auth_schema.ts";`,
      ),
    );
    assertEquals((await generate(root)).exitCode, 0);
    const config = await readConfig(root, undefined);
    assertEquals(await checkAuthTables(root, config), undefined);
    await write(root, "src/auth.ts", `${authModule("")}\nthrow new Error("no queue");`);
    assertStringIncludes(String(await checkAuthTables(root, config)), "no queue");
  });
});

Deno.test("build, dev and generate permissions refuse an option that better-auth does not have", async () => {
  const commands = [build, dev, generatePermissions];
  const files = { "src/auth.ts": authModule("emailAndPassword: { enabeld: true } as any,") };
  await withAuthProject(files, async (root) => {
    await Deno.mkdir(join(root, "src/functions"), { recursive: true });
    for (const command of commands) {
      const args = [...command.name.split(" "), "--project", root];
      const { exitCode, stderr } = await runInProcess(args, { commands });
      assertEquals(exitCode, 3, command.name);
      assertStringIncludes(
        stderr,
        "src/auth.ts:10: AuthConfig.emailAndPassword has no option enabeld",
      );
    }
    // the tables of several configurations are not checked, but their options are
    await write(root, "src/other.ts", authModule(""));
    const args = ["build", "--project", root];
    const { exitCode, stderr } = await runInProcess(args, { commands });
    assertEquals(exitCode, 3);
    assertStringIncludes(stderr, "AuthConfig.emailAndPassword has no option enabeld");
  });
});

Deno.test("generate auth-schema reads configurations that are loaded at the same time", async () => {
  const slow = `await new Promise((resolve) => setTimeout(resolve, 200));\n${authModule(PLUGINS)}`;
  await withAuthProject(
    { "src/auth.ts": slow },
    (slowRoot) =>
      withAuthProject({ "src/auth.ts": authModule("") }, async (root) => {
        const [first, second] = await Promise.all([generate(slowRoot), generate(root)]);
        assertEquals([first.exitCode, second.exitCode], [0, 0], first.stderr + second.stderr);
        assertStringIncludes(await read(slowRoot, "src/auth_schema.ts"), `role: text("role"),`);
        assert(!(await read(root, "src/auth_schema.ts")).includes("role"));
      }),
  );
});

Deno.test("generate auth-schema names the variable that decides about tables", async () => {
  const plugin = "plugins: process.env.WITH_ADMIN ? " +
    `async () => [(await import("better-auth/plugins/admin")).admin()] : undefined,`;
  await withAuthProject({ "src/auth.ts": authModule(plugin) }, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertStringIncludes(stderr, "src/auth.ts:8: WITH_ADMIN decides what is described");
  });
});

/** Tables as better-auth's own command writes them, with names of the project. */
const OWN_TABLES =
  `import { boolean, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";

export const user = pgTable("user", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  email: text("email").notNull().unique(),
  emailVerified: boolean("email_verified").default(false).notNull(),
  image: text("image"),
  createdAt: timestamp("created_at").notNull(),
  updatedAt: timestamp("updated_at").notNull(),
});
export const sessions = pgTable("app_sessions", {
  id: text("id").primaryKey(),
  token: text("token").notNull().unique(),
  expiresAt: timestamp("expires_at").notNull(),
  ipAddress: text("ip_address"),
  userAgent: text("user_agent"),
  userId: text("user_id").notNull().references(() => user.id),
  createdAt: timestamp("created_at").notNull(),
  updatedAt: timestamp("updated_at").notNull(),
});
export const account = pgTable("account", {
  id: text("id").primaryKey(),
  accountId: text("account_id").notNull(),
  providerId: text("provider_id").notNull(),
  userId: text("user_id").notNull(),
  accessToken: text("access_token"),
  refreshToken: text("refresh_token"),
  idToken: text("id_token"),
  accessTokenExpiresAt: timestamp("access_token_expires_at"),
  refreshTokenExpiresAt: timestamp("refresh_token_expires_at"),
  scope: text("scope"),
  password: text("password"),
  createdAt: timestamp("created_at").notNull(),
  updatedAt: timestamp("updated_at").notNull(),
});
export const verification = pgTable("verification", {
  id: text("id").primaryKey(),
  identifier: text("identifier").notNull(),
  value: text("value").notNull(),
  expiresAt: timestamp("expires_at").notNull(),
  createdAt: timestamp("created_at").notNull(),
  updatedAt: timestamp("updated_at").notNull(),
});
export const twoFactorTable = pgTable("two_factor", {
  id: text("id").primaryKey(),
  secret: text("secret").notNull(),
  backupCodes: text("backup_codes").notNull(),
  userId: text("user_id").notNull(),
  verified: boolean("verified"),
  failedVerificationCount: integer("failed_verification_count"),
  lockedUntil: timestamp("locked_until"),
});
`;

const OWN_IMPORT =
  `import { account, sessions, twoFactorTable, user, verification } from "../auth-schema.ts";`;

Deno.test("generate auth-schema and check all refuse a second set of tables and print the line to write", async () => {
  const files = { "src/auth.ts": authModule(""), "auth-schema.ts": OWN_TABLES };
  await withAuthProject(files, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root);
    assertEquals([exitCode, stdout], [3, ""]);
    assertStringIncludes(
      stderr,
      "so other tables would be used: user at auth-schema.ts:3, session at auth-schema.ts:12, account at " +
        "auth-schema.ts:22, verification at auth-schema.ts:37. Write in AuthConfig: " +
        "schema: { user, session: sessions, account, verification },",
    );
    assertEquals(await list(root, "."), ["auth-schema.ts", "package.json", "src"]);
    await assertRejects(
      async () => checkAuthTables(root, await readConfig(root, undefined)),
      ConfigurationError,
      "schema: { user, session: sessions, account, verification },",
    );
  });
});

Deno.test("generate auth-schema finds tables of creators, of schemas and of callbacks, but in no file of another kind", async () => {
  const tables = `import { pgSchema, pgTableCreator, type AnyPgTable } from "drizzle-orm/pg-core";
const createTable = pgTableCreator((name) => \`app_\${name}\`);
const userColumns = { id: 1, name: 1, email: 1, emailVerified: 1, image: 1 } as any;
export let user: AnyPgTable = createTable("user", { ...userColumns, createdAt: 1, updatedAt: 1 });
export const userSession = pgSchema("auth").table("session", (t) => ({
  id: t.text(), token: t.text(), expiresAt: t.timestamp(), userId: t.text(), "createdAt": t.timestamp(), updatedAt: t.timestamp(),
}));
throw new Error("the file is not run");`;
  const files = {
    "src/auth.ts": authModule(""),
    "src/db/schema.ts": tables,
    "src/other.ts":
      `import { text } from "drizzle-orm/pg-core";\nexport const account = other("account", { text });`,
  };
  await withAuthProject(files, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertStringIncludes(
      stderr,
      "user at src/db/schema.ts:4, session at src/db/schema.ts:5. Write in AuthConfig: schema: { user, session: userSession },",
    );
    await write(root, "src/other.ts", `import "drizzle-orm/pg-core";\nconst a = (;`);
    assertStringIncludes((await generate(root)).stderr, "src/other.ts:2:");
  });
});

Deno.test("generate auth-schema adds only the limits to tables that AuthConfig.schema names", async () => {
  const schema = "schema: { user, session: sessions, account, verification },";
  const files = { "src/auth.ts": authModule(schema, OWN_IMPORT), "auth-schema.ts": OWN_TABLES };
  await withAuthProject(files, async (root) => {
    assertEquals((await generate(root, "--check")).exitCode, 1);
    const { exitCode, stderr } = await generate(root);
    assertEquals([exitCode, stderr], [0, ""]);
    const migration = await read(root, "migrations/0001_auth_schema.sql");
    assertEquals(migration.match(/CREATE TABLE.*/g), [
      'CREATE TABLE "rate_limits" (',
    ]);
    assertEquals((await generate(root, "--check")).exitCode, 0);
  });
});

Deno.test("generate auth-schema names a plugin's table that AuthConfig.schema lacks", async () => {
  const plugin =
    `plugins: async () => [(await import("better-auth/plugins/two-factor")).twoFactor()],
    schema: { user, session: sessions, account, verification },`;
  const files = { "src/auth.ts": authModule(plugin, OWN_IMPORT), "auth-schema.ts": OWN_TABLES };
  await withAuthProject(files, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertStringIncludes(stderr, "Add to AuthConfig.schema: { twoFactor: twoFactorTable }");
  });
});

Deno.test("generate auth-schema writes tables beside one that only has the name of better-auth's", async () => {
  const bank = `import { integer, pgTable, text } from "drizzle-orm/pg-core";
export const account = pgTable("bank_account", { id: text("id"), balance: integer("balance") });
export const rows = [account];`;
  await withAuthProject({ "src/auth.ts": authModule(""), "src/bank.ts": bank }, async (root) => {
    assertEquals((await generate(root)).exitCode, 0);
  });
});
