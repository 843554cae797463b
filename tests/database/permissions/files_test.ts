import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ConfigurationError } from "../../../errors/mod.ts";
import type { PermissionAction } from "../../../database/permissions/permission_statement.ts";
import { readFiles } from "./permissions_support.ts";

const ACTIONS: [sql: string, action: PermissionAction][] = [
  [`CREATE ROLE "dev-UserLogin" WITH LOGIN`, {
    kind: "create_role",
    role: "dev-UserLogin",
    canLogin: true,
  }],
  ["create user Reader", { kind: "create_role", role: "reader", canLogin: true }],
  ["CREATE ROLE grp", { kind: "create_role", role: "grp", canLogin: false }],
  [
    `AWS IAM GRANT "x" TO 'arn:aws:iam::1:role/it''s'`,
    { kind: "iam_grant", role: "x", arn: "arn:aws:iam::1:role/it's" },
  ],
  [`AWS IAM REVOKE x FROM 'arn'`, { kind: "iam_revoke", role: "x", arn: "arn" }],
  [
    `GRANT SELECT, insert ON "Notes", app.users TO "x", PUBLIC`,
    {
      kind: "grant",
      privileges: [{ name: "SELECT", columns: [] }, { name: "INSERT", columns: [] }],
      objects: [{ type: "table", schema: undefined, name: "Notes" }, {
        type: "table",
        schema: "app",
        name: "users",
      }],
      roles: ["x", null],
      grantable: false,
    },
  ],
  [
    `GRANT UPDATE (title, "Body"), SELECT ON TABLE notes TO x WITH GRANT OPTION`,
    {
      kind: "grant",
      privileges: [{ name: "UPDATE", columns: ["title", "Body"] }, { name: "SELECT", columns: [] }],
      objects: [{ type: "table", schema: undefined, name: "notes" }],
      roles: ["x"],
      grantable: true,
    },
  ],
  [
    "REVOKE ALL PRIVILEGES ON ALL SEQUENCES IN SCHEMA app FROM GROUP x CASCADE",
    { kind: "other" },
  ],
  [
    "REVOKE ALL PRIVILEGES ON ALL SEQUENCES IN SCHEMA app FROM GROUP x",
    {
      kind: "revoke",
      privileges: [{ name: "ALL", columns: [] }],
      objects: [{ type: "sequence", schema: "app", name: undefined }],
      roles: ["x"],
      grantable: false,
    },
  ],
  [
    "GRANT USAGE ON SCHEMA app TO x",
    {
      kind: "grant",
      privileges: [{ name: "USAGE", columns: [] }],
      objects: [{ type: "schema", schema: undefined, name: "app" }],
      roles: ["x"],
      grantable: false,
    },
  ],
  ["GRANT reader TO writer", { kind: "other" }],
  ["GRANT EXECUTE ON FUNCTION f() TO x", { kind: "other" }],
  ["GRANT SELECT ON t TO CURRENT_USER", { kind: "other" }],
  ["GRANT SELECT ON t TO x GRANTED BY y", { kind: "other" }],
  ["ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO x", { kind: "other" }],
];

Deno.test("readPermissionFiles() reads what each statement does", async () => {
  for (const [sql, action] of ACTIONS) {
    const [statement] = await readFiles({ "a.sql": `${sql};` });
    assertEquals(statement.action, action, sql);
  }
});

Deno.test("readPermissionFiles() reads the files in order with the line of each statement", async () => {
  const statements = await readFiles({
    "b.sql":
      "\ufeff-- second\r\n\r\n/* a ; comment */ GRANT SELECT ON t TO x;\r\n\r\nGRANT\n  INSERT ON t TO x",
    "a.sql": "CREATE ROLE x;",
    "notes.txt": "no SQL",
  });
  assertEquals(statements.map(({ source: { file, line }, title }) => `${file}:${line} ${title}`), [
    "a.sql:1 CREATE ROLE",
    "b.sql:3 GRANT",
    "b.sql:5 GRANT",
  ]);
});

Deno.test("readPermissionFiles() replaces variables in literals, names and bare words, and in no comment", async () => {
  const sql =
    "-- ${NOT_SET}\nAWS IAM GRANT \"${PREFIX}-Login\" TO 'arn:aws:iam::${ACCOUNT}:role/${PREFIX}-Login';" +
    'GRANT SELECT ON ${TABLE} TO "${PREFIX}-Login"; GRANT SELECT ON a TO "$PREFIX"';
  const statements = await readFiles({ "a.sql": sql }, {
    PREFIX: "dev",
    ACCOUNT: "012345678901",
    TABLE: "notes",
  });
  assertEquals(statements.map(({ sql }) => sql), [
    `AWS IAM GRANT "dev-Login" TO 'arn:aws:iam::012345678901:role/dev-Login'`,
    `GRANT SELECT ON notes TO "dev-Login"`,
    `GRANT SELECT ON a TO "$PREFIX"`,
  ]);
});

Deno.test("readPermissionFiles() names all variables that are missing or do not fit in one error", async () => {
  const files = {
    "a.sql": 'CREATE ROLE "${A}";\nCREATE ROLE "${B}";\nCREATE ROLE "${toString}";',
    "b.sql":
      'AWS IAM GRANT x TO \'arn:${C}\'; GRANT SELECT ON ${D} TO x; CREATE ROLE "${E}"; CREATE ROLE "${not a name}"',
  };
  const env = {
    B: "",
    C: "x'; DROP TABLE notes; --",
    D: "notes TO y; DROP TABLE notes",
    E: 'x" SUPERUSER --',
  };
  const error = await assertRejects(() => readFiles(files, env), ConfigurationError);
  for (
    const name of [
      "A (a.sql:1)",
      "B (a.sql:2)",
      "toString (a.sql:3)",
      "C (b.sql:1)",
      "D (b.sql:1)",
      "E (b.sql:1)",
    ]
  ) {
    assertStringIncludes(error.message, name);
  }
  assert(!error.message.includes("DROP") && !error.message.includes("SUPERUSER"), error.message);
  assertEquals(error.details?.variables, ["A", "B", "toString", "C", "D", "E", "not a name"]);
});

const UNFIT: [sql: string, value: string][] = [
  ["'${V}'", "a'b"],
  ["'${V}'", "a\\"],
  ["E'${V}'", "a\\'"],
  ["$$${V}$$", "a$$b"],
  ["'${V}'", "a\u0000b"],
  ["'${V}'", "${V}"],
  ['"${V}"', 'a"b'],
  ["${V}", "a b"],
  ["${V}", "a;"],
  ["${V}", "a--"],
  ["${V}", 'a"'],
  ["${V}", "ä"],
];

Deno.test("readPermissionFiles() refuses a value that would leave its place", async () => {
  for (const [place, value] of UNFIT) {
    const error = await assertRejects(
      () => readFiles({ "a.sql": `AWS IAM GRANT x TO ${place}` }, { V: value }),
      ConfigurationError,
    );
    assertStringIncludes(error.message, "would change the structure", `${place} with ${value}`);
  }
});

Deno.test("readPermissionFiles() refuses a folder without statements", async () => {
  const error = await assertRejects(() => readFiles({ "a.sql": "-- nothing" }), ConfigurationError);
  assertStringIncludes(error.message, "has no statement");
});
