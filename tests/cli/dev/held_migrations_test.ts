import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { onLine } from "../../../cli/commands/dev.ts";
import type { DevServer } from "../../../cli/dev/dev_server.ts";
import { runProgram } from "../../../cli/programs/run_program.ts";
import { GENERATED_HEAD } from "../../../cli/schema_migration/difference.ts";
import { withEnv } from "../../support/with_env.ts";
import { createTestProject, SERVED, type TestProject } from "./fixtures/project.ts";

const COUNT = `import { buildValidatedResponse } from "@trellis/fn/core";
import { getDrizzleClient } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import { getRequiredEnv } from "@trellis/fn/env";
import { defineApiHandler } from "@trellis/fn/validation";
const config = { provider: "embedded-pg" as const, connectionString: getRequiredEnv("DATABASE_URL") };
export const handler = defineApiHandler()(async function listNotes({ context }) {
  const db = await getDrizzleClient(config);
  const { rows } = await db.execute(sql\`select * from notes order by id\`);
  return buildValidatedResponse(context, 200, { rows });
});
`;
const FILES = {
  "package.json": '{ "name": "fixture", "type": "module" }',
  "src/functions/api/notes.get.ts": COUNT,
  "migrations/0001_notes.sql": `create table notes (id int primary key, body text);
--> statement-breakpoint
insert into notes values (1, 'first');`,
};
const SECOND = "migrations/0002_next.sql";

interface Held {
  readonly files: readonly { readonly file: string; readonly reasons: readonly string[] }[];
  readonly isRebuild: boolean;
}

async function withProject(
  test: (project: TestProject, server: DevServer) => Promise<void>,
): Promise<void> {
  const project = await createTestProject(FILES);
  const env = {
    DATABASE_URL: undefined,
    DATABASE_PROVIDER: undefined,
    DATABASE_ENDPOINT: undefined,
  };
  await withEnv(env, async () => {
    try {
      await test(project, await project.start({ database: "embedded" }));
    } finally {
      await project.clean();
    }
  });
}

async function getRows({ url }: DevServer): Promise<unknown[]> {
  return (await (await fetch(`${url}/notes`)).json()).rows;
}

async function getHeld({ url }: DevServer): Promise<Held | null> {
  return (await (await fetch(`${url}/_trellis/api/state`)).json()).held;
}

/** Waits until the server holds migrations for this reason. */
async function waitForHeld(server: DevServer, reason: string): Promise<Held> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const held = await getHeld(server);
    if (held?.files.some(({ reasons }) => reasons.join().includes(reason))) return held;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`Nothing is held because of ${reason}`);
}

async function apply({ url }: DevServer): Promise<void> {
  const response = await fetch(`${url}/_trellis/api/migrations/apply`, { method: "POST" });
  assertEquals([response.status, await response.json()], [200, { held: null }]);
}

Deno.test(
  "startDevServer() holds a migration that drops a column with values, until it is confirmed",
  SERVED,
  async () => {
    await withProject(async (project, server) => {
      await project.write(SECOND, "alter table notes drop column body;");
      const held = await waitForHeld(server, "drops the column");
      assertEquals(held, {
        files: [{
          file: "0002_next.sql",
          reasons: ["line 1: alter table notes drop column body: drops the column with its data"],
        }],
        isRebuild: false,
      });
      assertEquals(await getRows(server), [{ id: 1, body: "first" }]);
      assertStringIncludes(
        project.told(),
        "To apply: type m and press Enter here, or use the page",
      );
      await server.stop();
      const second = await project.start({ database: "embedded" });
      assertMatch(second.database, /migrations wait for your confirmation$/);
      assertEquals(await getRows(second), [{ id: 1, body: "first" }]);
      await apply(second);
      assertEquals(await getRows(second), [{ id: 1 }]);
    });
  },
);

Deno.test(
  "startDevServer() holds a generated migration that appears while it runs, and applies it as it is then",
  SERVED,
  async () => {
    await withProject(async (project, server) => {
      await project.write(
        SECOND,
        `-- ${GENERATED_HEAD}\nalter table notes add column title text;\n`,
      );
      await waitForHeld(server, "new and generated: read it");
      await project.write(
        SECOND,
        `-- ${GENERATED_HEAD}\nalter table notes add column name text;\n`,
      );
      const input = new PassThrough();
      const confirmed = new Promise<void>((resolve) => {
        onLine(input, "m", () => resolve(server.confirmMigrations()));
      });
      input.write("x\n m \n");
      await confirmed;
      assertEquals(await getRows(server), [{ id: 1, body: "first", name: null }]);
    });
  },
);

Deno.test(
  "startDevServer() builds the local database again after an applied file has changed",
  SERVED,
  async () => {
    await withProject(async (project, server) => {
      await project.write(SECOND, "alter table notes add column title text default 'none';");
      await waitForRows(server, { id: 1, body: "first", title: "none" });
      await project.write(SECOND, "alter table notes add column name text, drop column body;");
      const held = await waitForHeld(server, "has changed since it was applied");
      assertEquals(held.isRebuild, true);
      assertEquals(await getRows(server), [{ id: 1, body: "first", title: "none" }]);
      await apply(server);
      assertEquals(await getRows(server), [{ id: 1, name: null }]);
      assertStringIncludes(project.told(), "notes.title: 1 value, because the column is gone");
      assertStringIncludes(project.told(), ".trellis/dev/pg.before");

      await project.remove(SECOND);
      await project.write("migrations/0002_other.sql", "alter table notes add column name int;");
      await waitForHeld(server, "the folder no longer contains it");
      await apply(server);
      assertEquals(await getRows(server), [{ id: 1, body: "first", name: null }]);
    });
  },
);

Deno.test(
  "startDevServer() keeps the database if a changed migration fails, and after it was pushed",
  SERVED,
  async () => {
    await withProject(async (project, server) => {
      const first = "migrations/0001_notes.sql";
      await project.write(first, "create table notes (id int primary key, body missing);");
      await waitForHeld(server, "has changed");
      await apply(server);
      assertStringIncludes(project.told(), 'type "missing" does not exist');
      assertEquals(await getRows(server), [{ id: 1, body: "first" }]);

      const git = async (...args: string[]) => {
        const settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        const { exitCode, stderr } = await runProgram("git", [...settings, ...args], {
          cwd: project.root,
        });
        assertEquals([exitCode, args[0], exitCode === 0 ? "" : stderr], [0, args[0], ""]);
      };
      await git("init", "--quiet", "--bare", "remote.git");
      await git("init", "--quiet");
      await git("add", "migrations");
      await git("commit", "--quiet", "--message=first");
      await git("push", "--quiet", "remote.git", "HEAD:refs/heads/main");
      await git("fetch", "--quiet", "remote.git", "+refs/heads/*:refs/remotes/origin/*");
      await project.write(first, "create table notes (id int primary key);");
      for (let n = 0; n < 400 && !project.told().includes("it was pushed (commit "); n++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      assertStringIncludes(
        project.told(),
        "0001_notes.sql has changed since it was applied, and it was pushed",
      );
      assertEquals(await getHeld(server), null);
    });
  },
);

Deno.test(
  "startDevServer() finds the database again after a rebuild was killed",
  SERVED,
  async () => {
    await withProject(async (project, server) => {
      await server.stop();
      const folder = join(project.root, ".trellis/dev/pg");
      await Deno.mkdir(`${folder}.next`);
      await Deno.rename(folder, `${folder}.before`);
      const second = await project.start({ database: "embedded" });
      assertEquals(second.database, "embedded Postgres, migrations up to date");
      assertEquals(await getRows(second), [{ id: 1, body: "first" }]);
    });
  },
);

async function waitForRows(server: DevServer, ...rows: unknown[]): Promise<void> {
  for (let n = 0; n < 400; n++) {
    if (JSON.stringify(await getRows(server)) === JSON.stringify(rows)) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assertEquals(await getRows(server), rows);
}
