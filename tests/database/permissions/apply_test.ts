import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { applyPermissions, applyStatements } from "../../../database/permissions/apply.ts";
import { compareStatements, validatePermissions } from "../../../database/permissions/validate.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createTestDatabase } from "../../../testing/database.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { openSession, readFiles, type TestSession } from "./permissions_support.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

let postgres: TestPostgres | undefined;
let databases = 0;

/** Roles belong to the server, so each test has names of its own: `$` in the SQL. */
async function withDatabase(
  test: (admin: TestSession, url: string, id: string) => Promise<void>,
): Promise<void> {
  postgres ??= await startPostgres();
  const id = `r${++databases}`;
  const url = await postgres.createDatabase(`permissions_${id}`);
  const admin = await openSession(url);
  try {
    await admin.script([
      "CREATE TABLE notes (id int PRIMARY KEY, title text, body text)",
      'CREATE TABLE "Users" (id serial)',
      "CREATE SCHEMA app",
      "CREATE TABLE app.files (id int)",
    ]);
    await test(admin, url, id);
  } finally {
    await admin.close();
  }
}

const options = { sanitizeOps: false, sanitizeResources: false };
const silent = (): void => {};

const FILE = `
-- as the generator writes them
CREATE ROLE "\${P}-UserLogin" WITH LOGIN;
AWS IAM GRANT "\${P}-UserLogin" TO 'arn:aws:iam::\${ACCOUNT}:role/\${P}-UserLogin';
GRANT SELECT, INSERT ON "notes" TO "\${P}-UserLogin";
GRANT UPDATE (title) ON "notes" TO "\${P}-UserLogin";
GRANT ALL ON "Users" TO "\${P}-UserLogin";
GRANT USAGE ON SEQUENCE "Users_id_seq" TO "\${P}-UserLogin";
GRANT USAGE ON SCHEMA app TO "\${P}-UserLogin";
GRANT SELECT ON ALL TABLES IN SCHEMA app TO "\${P}-UserLogin" WITH GRANT OPTION;
`;

Deno.test("applyPermissions() applies once, and then finds nothing to do", options, async () => {
  await withDatabase(async (admin, _url, id) => {
    const statements = await readFiles({ "permissions.sql": FILE }, {
      P: id,
      ACCOUNT: "012345678901",
    });
    const first = await applyStatements(admin, statements, false, silent);
    // there is no IAM on this server
    assertEquals(first, { applied: 7, skipped: 1, errors: [] });
    const [may] = await admin.query(
      `SELECT has_table_privilege($1, 'notes', 'INSERT') AS a, has_column_privilege($1, 'notes', 'title', 'UPDATE') AS b, ` +
        `has_column_privilege($1, 'notes', 'body', 'UPDATE') AS c, has_table_privilege($1, 'app.files', 'SELECT WITH GRANT OPTION') AS d, ` +
        `has_table_privilege($1, '"Users"', 'TRUNCATE') AS e`,
      [`${id}-UserLogin`],
    );
    assertEquals(may, { a: true, b: true, c: false, d: true, e: true });
    assertEquals((await compareStatements(admin, statements, false, silent)).gaps, []);
    admin.sent.length = 0;
    assertEquals(await applyStatements(admin, statements, false, silent), {
      applied: 0,
      skipped: 8,
      errors: [],
    });
    assertEquals(admin.sent, []);
  });
});

interface DifferenceCase {
  title: string;
  live: string[];
  file: string;
  sent: string[];
}

const DIFFERENCES: DifferenceCase[] = [
  {
    title: "one privilege of three is missing",
    live: ["CREATE ROLE $ LOGIN", "GRANT SELECT, UPDATE ON notes TO $"],
    file: "GRANT SELECT, INSERT, UPDATE ON notes TO $",
    sent: ['GRANT INSERT ON TABLE "public"."notes" TO "$"'],
  },
  {
    title: "a file takes all and gives some again",
    live: ["CREATE ROLE $ LOGIN", "GRANT SELECT, DELETE ON notes TO $"],
    file: "REVOKE ALL ON notes FROM $; GRANT SELECT ON notes TO $",
    sent: ['REVOKE DELETE ON TABLE "public"."notes" FROM "$"'],
  },
  {
    title: "a role may not log in yet",
    live: ["CREATE ROLE $"],
    file: "CREATE ROLE $ WITH LOGIN",
    sent: ['ALTER ROLE "$" WITH LOGIN'],
  },
  {
    title: "a privilege may not be passed on yet",
    live: ["CREATE ROLE $", "GRANT SELECT ON notes TO $"],
    file: "GRANT SELECT ON notes TO $ WITH GRANT OPTION",
    sent: ['GRANT SELECT ON TABLE "public"."notes" TO "$" WITH GRANT OPTION'],
  },
  {
    title: "two columns of three are missing",
    live: ["CREATE ROLE $", "GRANT UPDATE (id) ON notes TO $"],
    file: 'GRANT UPDATE (id, title, "body") ON notes TO $',
    sent: ['GRANT UPDATE ("title"), UPDATE ("body") ON TABLE "public"."notes" TO "$"'],
  },
  {
    title: "a privilege on the table goes, and with it that on a column",
    live: ["CREATE ROLE $", "GRANT UPDATE (id) ON notes TO $"],
    file: "REVOKE UPDATE ON notes FROM $",
    sent: ['REVOKE UPDATE ("id") ON TABLE "public"."notes" FROM "$"'],
  },
  {
    title: "a privilege on the table is reduced to columns",
    live: ["CREATE ROLE $", "GRANT SELECT, UPDATE ON notes TO $"],
    file:
      "REVOKE SELECT, UPDATE ON notes FROM $; GRANT SELECT (id, title), UPDATE (title) ON notes TO $",
    sent: [
      'REVOKE SELECT, UPDATE ON TABLE "public"."notes" FROM "$"',
      'GRANT SELECT ("id"), SELECT ("title"), UPDATE ("title") ON TABLE "public"."notes" TO "$"',
    ],
  },
  {
    title: "a privilege on the table goes that columns have as well",
    live: ["CREATE ROLE $", "GRANT SELECT ON notes TO $", "GRANT SELECT (id) ON notes TO $"],
    file: "REVOKE SELECT ON notes FROM $; GRANT SELECT (id) ON notes TO $",
    sent: [
      'REVOKE SELECT ON TABLE "public"."notes" FROM "$"',
      'GRANT SELECT ("id") ON TABLE "public"."notes" TO "$"',
    ],
  },
  {
    title: "columns have what they should, and the table nothing",
    live: ["CREATE ROLE $", "GRANT SELECT (id) ON notes TO $"],
    file:
      "REVOKE SELECT ON notes FROM $;\n-- distsql: whole table\nGRANT SELECT (id) ON notes TO $",
    sent: [],
  },
  {
    title: "everybody has it but the role itself",
    live: ["CREATE ROLE $", "GRANT SELECT ON notes TO PUBLIC"],
    file: "GRANT SELECT ON notes TO $",
    sent: ['GRANT SELECT ON TABLE "public"."notes" TO "$"'],
  },
  {
    title: "what the files do not know runs as it is",
    live: ["CREATE ROLE $"],
    file: "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO $",
    sent: ["ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO $"],
  },
];

for (const { title, live, file, sent } of DIFFERENCES) {
  Deno.test(
    `applyPermissions() sends what differs and no more when ${title}`,
    options,
    async () => {
      await withDatabase(async (admin, _url, id) => {
        await admin.script(live.map((one) => one.replaceAll("$", id)));
        const statements = await readFiles({ "a.sql": file.replaceAll("$", id) });
        const { errors } = await applyStatements(admin, statements, false, silent);
        assertEquals(errors, []);
        assertEquals(admin.sent, sent.map((one) => one.replaceAll("$", id)));
        const again = await applyStatements(
          admin,
          statements.filter(({ action }) => action.kind !== "other"),
          false,
          silent,
        );
        assertEquals(again.applied, 0);
      });
    },
  );
}

Deno.test(
  "validatePermissions() finds a privilege on the table that was to be reduced to columns, and a column too few",
  options,
  async () => {
    await withDatabase(async (admin, _url, id) => {
      const file =
        `CREATE ROLE ${id} LOGIN; REVOKE SELECT ON notes FROM ${id}; GRANT SELECT (id, title) ON notes TO ${id}`;
      const statements = await readFiles({ "a.sql": file });
      await admin.script([
        `CREATE ROLE ${id} LOGIN`,
        `GRANT SELECT ON notes TO ${id}`,
        `GRANT SELECT (id) ON notes TO ${id}`,
      ]);
      const before = await compareStatements(admin, statements, false, silent);
      assertEquals(before.gaps.map(({ message, column }) => [message, column]), [
        [`SELECT (title) on table public.notes to ${id}`, "title"],
      ]);
      assertEquals(before.surpluses.map(({ message }) => message), [
        `SELECT on table public.notes to ${id}`,
      ]);
      await applyStatements(admin, statements, false, silent);
      const { valid, gaps, surpluses } = await compareStatements(admin, statements, false, silent);
      assertEquals([valid, gaps, surpluses], [true, [], []]);
      await admin.script([`GRANT SELECT (body) ON notes TO ${id}`]);
      const after = await compareStatements(admin, statements, false, silent);
      assertEquals(after.surpluses.map(({ message }) => message), [
        `SELECT (body) on table public.notes to ${id}`,
      ]);
    });
  },
);

Deno.test(
  "applyPermissions() grants columns as whole tables on the distributed provider where the file says so",
  options,
  async () => {
    await withDatabase(async (admin, _url, id) => {
      const comment = "-- distsql: whole table";
      const file =
        `CREATE ROLE ${id} LOGIN;\nREVOKE SELECT, UPDATE ON notes FROM ${id};\n${comment}\n` +
        `GRANT SELECT (id), UPDATE (title) ON notes TO ${id};\nGRANT SELECT (id) ON "Users" TO ${id};`;
      const statements = await readFiles({ "a.sql": file });
      assertEquals(statements.map((one) => one.isWholeTableOnDistSql), [false, false, true, false]);
      const logged: string[] = [];
      await applyStatements(admin, statements, true, (line) => logged.push(line));
      assertEquals(admin.sent.slice(1), [
        `GRANT SELECT, UPDATE ON TABLE "public"."notes" TO "${id}"`,
        `GRANT SELECT ("id") ON TABLE "public"."Users" TO "${id}"`,
      ]);
      assertEquals(logged[1], "a.sql:4: GRANT on whole tables instead of columns");
      const { valid, gaps, surpluses } = await compareStatements(admin, statements, true, silent);
      assertEquals([valid, gaps, surpluses], [true, [], []]);
      assertEquals((await applyStatements(admin, statements, true, silent)).applied, 0);
    });
  },
);

Deno.test("readPermissionFiles() accepts the comment about whole tables on a separate line only", async () => {
  const texts: [string, boolean][] = [
    ["-- distsql: whole table\nGRANT SELECT (id) ON t TO r", true],
    ["-- another\n-- distsql: whole table  \n-- and another\nGRANT SELECT (id) ON t TO r", true],
    ["-- distsql: whole table (src/a.ts)\nGRANT SELECT (id) ON t TO r", false],
    ["/* -- distsql: whole table */ GRANT SELECT (id) ON t TO r", false],
    ["GRANT SELECT (id) ON t TO r -- distsql: whole table\n", false],
    ["GRANT SELECT (id) ON t -- distsql: whole table\n TO r", false],
  ];
  for (const [text, expected] of texts) {
    const [statement] = await readFiles({ "a.sql": text });
    assertEquals(statement.isWholeTableOnDistSql, expected, text);
  }
});

Deno.test("applyPermissions() reports what failed and applies the rest", options, async () => {
  await withDatabase(async (admin, _url, id) => {
    const file =
      `CREATE ROLE ${id};\nGRANT SELECT ON missing TO ${id};\nGRANT SELECT ON notes TO ${id}_no_role;\n` +
      `GRANT SELECT ON notes TO ${id};\nREVOKE SELECT ON gone FROM ${id};\nDROP ROLE ${id}_no_role`;
    const logged: string[] = [];
    const result = await applyStatements(
      admin,
      await readFiles({ "a.sql": file }),
      false,
      (line) => logged.push(line),
    );
    assertEquals([result.applied, result.skipped], [2, 2]);
    assertEquals(result.errors.length, 2);
    assertMatch(
      result.errors[0],
      /^a\.sql:2: GRANT failed: SQLSTATE 42P01: relation "public\.missing" does not exist$/,
    );
    assertMatch(result.errors[1], /^a\.sql:3: GRANT failed: SQLSTATE 42704: /);
    assertEquals(logged.at(-1), "2 statements applied, 2 skipped, 2 failed");
  });
});

Deno.test(
  "validatePermissions() tells gaps and surpluses to a role that may only read, and grants nothing",
  options,
  async () => {
    await withDatabase(async (admin, url, id) => {
      const reader = `${id}_auditor`;
      await admin.script([
        `CREATE ROLE ${reader} LOGIN`,
        `ALTER ROLE ${reader} SET default_transaction_read_only = on`,
        `CREATE ROLE "${id}-UserLogin" LOGIN`,
        `GRANT SELECT, DELETE ON notes TO "${id}-UserLogin"`,
        `GRANT INSERT (body) ON notes TO "${id}-UserLogin"`,
        `GRANT SELECT ON notes TO PUBLIC`,
        "CREATE TABLE unrelated (id int)",
        `GRANT SELECT ON unrelated TO ${reader}`,
      ]);
      const file =
        `${FILE} REVOKE SELECT ON notes FROM PUBLIC; GRANT SELECT ON later TO "\${P}-UserLogin"; CREATE ROLE "\${P}-New" WITH LOGIN; GRANT a TO b;`;
      const statements = await readFiles({ "permissions.sql": file }, {
        P: id,
        ACCOUNT: "012345678901",
      });
      const session = await openSession(url, reader);
      const acl =
        "SELECT c.relname::text, c.relacl::text FROM pg_class c WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('public', 'app') ORDER BY 1";
      const before = await admin.query(acl);
      try {
        const result = await compareStatements(session, statements, false, silent);
        assertEquals(result.valid, false);
        assertEquals(session.sent, []);
        const messages = result.gaps.map(({ message }) => message.replaceAll(id, "dev"));
        for (
          const expected of [
            "role dev-New is missing",
            "INSERT on table public.notes to dev-UserLogin",
            "UPDATE (title) on table public.notes to dev-UserLogin",
            "TRUNCATE on table public.Users to dev-UserLogin",
            "USAGE on sequence public.Users_id_seq to dev-UserLogin",
            "USAGE on schema app to dev-UserLogin",
            "SELECT on table app.files to dev-UserLogin with grant option",
            "SELECT on table public.later to dev-UserLogin (there is no such table)",
          ]
        ) assert(messages.includes(expected), `${expected} in ${messages.join("; ")}`);
        assert(!messages.includes("SELECT on table public.notes to dev-UserLogin"));
        assertEquals(result.surpluses.map(({ message }) => message.replaceAll(id, "dev")).sort(), [
          "DELETE on table public.notes to dev-UserLogin",
          "INSERT (body) on table public.notes to dev-UserLogin",
          "SELECT on table public.notes to PUBLIC",
        ]);
        const gap = result.gaps.find(({ privilege, object }) =>
          privilege === "INSERT" && object === "public.notes"
        );
        assertEquals(gap, {
          kind: "grant",
          role: `${id}-UserLogin`,
          privilege: "INSERT",
          objectType: "table",
          object: "public.notes",
          source: "permissions.sql:5",
          message: `INSERT on table public.notes to ${id}-UserLogin`,
        });
        assertEquals(result.unchecked, ["permissions.sql:11: GRANT"]);
        // the very session could not have granted anything
        let refused = "";
        await session.query(`GRANT SELECT ON notes TO ${reader}`).catch((error) =>
          refused = error.code
        );
        assertEquals(refused, "25006");
      } finally {
        await session.close();
      }
      assertEquals(await admin.query(acl), before);
    });
  },
);

Deno.test(
  "applyPermissions() and validatePermissions() take a configuration",
  options,
  async () => {
    const database = await createTestDatabase();
    try {
      await withTempFolder(
        { "a.sql": 'CREATE ROLE "${NAME}" WITH LOGIN' },
        async (permissionsFolder) => {
          const config = { permissionsFolder, database: database.config, env: { NAME: "dev" } };
          assertEquals((await validatePermissions(config)).gaps.map(({ kind }) => kind), ["role"]);
          const lines: string[] = [];
          const result = await applyPermissions({ ...config, logger: (line) => lines.push(line) });
          assertEquals(result, { applied: 1, skipped: 0, errors: [] });
          assertEquals(lines, [
            "a.sql:1: CREATE ROLE",
            "1 statements applied, 0 skipped, 0 failed",
          ]);
          assertEquals((await applyPermissions(config)).skipped, 1);
          assertEquals((await validatePermissions(config)).valid, true);
        },
      );
    } finally {
      await database.close();
    }
  },
);

Deno.test(
  "applyPermissions() refuses statements that are about neither privileges nor roles",
  options,
  async () => {
    const database = await createTestDatabase();
    const others = [
      "DROP TABLE notes",
      "DO $$ BEGIN END $$",
      "SET ROLE x",
      "CREATE USER MAPPING FOR x SERVER s",
    ];
    try {
      for (const other of others) {
        const file = `CREATE ROLE early;\n${other};`;
        await withTempFolder({ "a.sql": file }, async (permissionsFolder) => {
          const config = { permissionsFolder, database: database.config };
          const error = await assertRejects(
            () => applyPermissions(config),
            ConfigurationError,
            "a.sql:2",
          );
          assertStringIncludes(error.message, "allowOtherStatements");
          assertEquals((await validatePermissions(config)).gaps.map(({ kind }) => kind), ["role"]);
        });
      }
      await withTempFolder({ "a.sql": "CREATE SCHEMA app;" }, async (permissionsFolder) => {
        const config = { permissionsFolder, database: database.config, allowOtherStatements: true };
        assertEquals((await applyPermissions(config)).applied, 1);
      });
      await withTempFolder(
        { "a.sql": "CREATE ROLE a; ALTER ROLE a NOLOGIN; COMMENT ON ROLE a IS 'x'; DROP ROLE a;" },
        async (permissionsFolder) => {
          assertEquals(
            (await applyPermissions({ permissionsFolder, database: database.config })).errors,
            [],
          );
        },
      );
    } finally {
      await database.close();
    }
  },
);

Deno.test.afterAll(async () => {
  await postgres?.stop();
});
