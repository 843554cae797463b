import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigurationError } from "../../../errors/mod.ts";
import { withEnv } from "../../support/with_env.ts";
import { createTestProject, SERVED } from "./fixtures/project.ts";

const DATABASE = `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
export const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title").notNull() });
const endpoint = getOptionalEnv("DATABASE_ENDPOINT");
export const { defineQuery } = createQueryFactory(() => getDrizzleClient(endpoint === undefined
  ? { provider: "embedded-pg", connectionString: getRequiredEnv("DATABASE_URL"), schema: { notes } }
  : {
    provider: "distsql",
    endpoint,
    region: getOptionalEnv("DATABASE_REGION"),
    username: getRequiredEnv("DATABASE_USERNAME"),
    ca: getOptionalEnv("DATABASE_CA"),
    schema: { notes },
  }));
`;
const ADD = `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { defineQuery, notes } from "../../database.ts";
const add = defineQuery({ tables: [] }, async function add(db, id: number) {
  await db.insert(notes).values({ id, title: "added" });
  return (await db.select().from(notes)).length;
});
export const handler = defineApiHandler()(async function addNote({ event, context }) {
  return buildValidatedResponse(context, 200, { total: await add(Number(event.queryStringParameters!.id)) });
});
`;
const FILES = {
  "src/database.ts": DATABASE,
  "src/functions/api/add.post.ts": ADD,
  "migrations/0001_notes.sql": "create table notes (id int primary key, title text not null);",
  "seed.sql":
    "insert into notes values (1, 'a; b');\n-- a comment\ninsert into notes values (2, 'c');",
  "seed.ts": `import { sql } from "@trellis/fn/database/orm";
import { notes } from "./src/database.ts";
export async function seed({ db }: { db: { insert(table: unknown): { values(rows: unknown): Promise<unknown> } } }) {
  await db.insert(notes).values([{ id: 1, title: "x" }, { id: 2, title: "y" }]);
}`,
};

const NO_DATABASE = {
  DATABASE_URL: undefined,
  DATABASE_PROVIDER: undefined,
  DATABASE_ENDPOINT: undefined,
};

async function add(url: string, id: number): Promise<unknown> {
  return (await (await fetch(`${url}/add?id=${id}`, { method: "POST" })).json()).total;
}

Deno.test(
  "startDevServer() migrates and seeds a new database, which survives reloads and restarts",
  SERVED,
  async () => {
    const project = await createTestProject(FILES);
    await withEnv(NO_DATABASE, async () => {
      try {
        const first = await project.start({ database: undefined }, { seed: "seed.sql" });
        assertEquals(first.database, "embedded Postgres, 1 migration applied, seeded");
        assertEquals(await add(first.url, 3), 3);
        await project.write(
          "src/functions/api/add.post.ts",
          `${ADD}\n// changed\nexport const other = 1;`,
        );
        assertEquals(await add(first.url, 4), 4);
        await first.stop();

        const second = await project.start({ database: undefined }, { seed: "seed.sql" });
        assertEquals(second.database, "embedded Postgres, migrations up to date");
        assertEquals(await add(second.url, 5), 5);
        const tables = await (await fetch(`${second.url}/_trellis/api/tables`)).json();
        assertEquals(tables[0], { schema: "public", name: "notes", rowCount: 5 });
        const rows = await (await fetch(`${second.url}/_trellis/api/tables/public/notes?offset=3`))
          .json();
        for (const offset of ["1e308", "-1", "x", "NaN"]) {
          const refused = await fetch(
            `${second.url}/_trellis/api/tables/public/notes?offset=${offset}`,
          );
          assertEquals([refused.status, (await refused.json()).message], [
            400,
            "offset must be an integer of at least 0",
          ]);
        }
        assertEquals(rows.rows, [["4", "added"], ["5", "added"]]);
        const stranger = await fetch(
          `${second.url}/_trellis/api/tables/public/${
            encodeURIComponent('notes"; drop table notes')
          }`,
        );
        assertEquals(stranger.status, 404);
        await stranger.body?.cancel();
        await second.stop();

        const third = await project.start({ database: undefined, reset: true }, {
          seed: "seed.ts",
        });
        assertEquals(third.database, "embedded Postgres, 1 migration applied, seeded");
        assertEquals(await add(third.url, 3), 3);
      } finally {
        await project.clean();
      }
    });
  },
);

Deno.test(
  "startDevServer() runs functions against the local Aurora DSQL server with a role of their own",
  SERVED,
  async () => {
    const project = await createTestProject(FILES);
    await withEnv(NO_DATABASE, async () => {
      try {
        for (const total of [1, 2]) {
          const server = await project.start({ database: "distsql" });
          assertMatch(server.database, /^local Aurora DSQL server/);
          assertEquals(await add(server.url, total), total);
          await server.stop();
        }
        // a client that only reads DATABASE_URL would write to another database
        await project.write(
          "src/database.ts",
          DATABASE.replace(
            'getOptionalEnv("DATABASE_ENDPOINT")',
            'getOptionalEnv("DATABASE_URL", ".trellis/pg") && undefined',
          ).replace('getRequiredEnv("DATABASE_URL")', '".trellis/pg"'),
        );
        const { url, stop } = await project.start({ database: "distsql" });
        assertEquals((await fetch(`${url}/add?id=9`, { method: "POST" })).status, 500);
        assertStringIncludes(
          project.told(),
          'With --db distsql, clients must have the provider "distsql", and this one has "embedded-pg"',
        );
        assertEquals(existsSync(join(project.root, ".trellis/pg")), false);
        await stop();
      } finally {
        await project.clean();
      }
    });
    assertEquals(Deno.env.get("DATABASE_ENDPOINT"), undefined);
  },
);

Deno.test(
  "startDevServer() opens the database of a project without migrations, and says what is missing",
  SERVED,
  async () => {
    const { "src/database.ts": database, "src/functions/api/add.post.ts": add } = FILES;
    const project = await createTestProject({
      "src/database.ts": database,
      "src/functions/api/add.post.ts": add,
    });
    await withEnv(NO_DATABASE, async () => {
      try {
        await project.start({ database: "embedded" });
        assertStringIncludes(project.told(), "The folder migrations does not exist");
        assertStringIncludes(project.told(), "trellis generate migration <name>");
        assertEquals(existsSync(join(project.root, ".trellis/dev/pg/PG_VERSION")), true);
      } finally {
        await project.clean();
      }
    });
  },
);

Deno.test("startDevServer() leaves a server of the environment alone", SERVED, async () => {
  const project = await createTestProject(FILES);
  await withEnv(
    { ...NO_DATABASE, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" },
    async () => {
      try {
        const { database, url } = await project.start({ database: undefined });
        assertStringIncludes(database, "the one in the environment");
        assertEquals((await fetch(`${url}/_trellis/api/tables`)).status, 404);
      } finally {
        await project.clean();
      }
    },
  );
});

Deno.test(
  "startDevServer() tells which statement of a seed failed, and stops what it had started",
  SERVED,
  async () => {
    const project = await createTestProject({
      ...FILES,
      "seed.sql": "insert into nothing values (1)",
    });
    await withEnv(NO_DATABASE, async () => {
      try {
        const cases: [seed: string, message: RegExp][] = [
          [
            "seed.sql",
            /^The seed seed\.sql failed: relation "nothing" does not exist\. Fix it and start with --reset/,
          ],
          ["gone.ts", /^The seed gone\.ts/],
          ["src/database.ts", /^src\/database\.ts does not export a seed/],
        ];
        for (const [seed, message] of cases) {
          const error = await assertRejects(
            () => project.start({ database: undefined }, { seed }),
            ConfigurationError,
          );
          assertMatch(error.message, message);
        }
        await (await project.start({ database: undefined })).stop();
      } finally {
        await project.clean();
      }
    });
  },
);

Deno.test(
  "startDevServer() applies new migrations while it runs, and names what Aurora DSQL will refuse",
  SERVED,
  async () => {
    const project = await createTestProject(FILES);
    const waitFor = async (text: string): Promise<void> => {
      for (let attempt = 0; attempt < 400 && !project.told().includes(text); attempt++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      assertStringIncludes(project.told(), text);
    };
    await withEnv(NO_DATABASE, async () => {
      try {
        const { url } = await project.start({ database: undefined });
        assertEquals(await add(url, 1), 1);
        await project.write(
          "migrations/0002_mood.sql",
          "create type mood as enum ('good');\nalter table notes add column mood mood;",
        );
        await waitFor("1 migration applied");
        await waitFor("Aurora DSQL will refuse 0002_mood.sql:1:1:");
        await project.write("migrations/0003_broken.sql", "alter table nothing add column x int;");
        await waitFor("To begin again with an empty database: trellis dev --reset");
        await project.write(
          "migrations/0003_broken.sql",
          "create table mended (id int primary key);",
        );
        const listTables = async (): Promise<string[]> =>
          (await (await fetch(`${url}/_trellis/api/tables`)).json()).map(
            ({ name }: { name: string }) => name,
          );
        for (let n = 0; n < 400 && !(await listTables()).includes("mended"); n++) {
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
        assertEquals((await listTables()).includes("mended"), true);
        assertEquals(await add(url, 2), 2);
      } finally {
        await project.clean();
      }
    });
  },
);
