import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { type Fixture, withProject as withFiles } from "../fixtures/analyse.ts";
import { infra, permissions, readInfra } from "../fixtures/infra_project.ts";
import { runInProcess } from "../fixtures/run.ts";

const API = "src/functions/api";

const NOTES: Fixture = {
  "deno.json": `{ "name": "@acme/notes" }`,
  "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: { region: "eu-central-1" }, openapi: { title: "Notes", version: "1" } });`,
  "src/queries.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
const { defineQuery } = createQueryFactory(() => getDrizzleClient({ provider: "distsql", endpoint: process.env.DATABASE_ENDPOINT!, username: process.env.DATABASE_USERNAME! }));
export const read = defineQuery({ tables: [{ table: "notes", operations: ["SELECT"] }] }, async (db) => {});
export const add = defineQuery({ tables: [{ table: "notes", operations: ["INSERT"] }, { table: "audit", operations: ["INSERT"] }] }, async (db) => {});
export const unused = defineQuery({ tables: [{ table: "secrets", operations: ["SELECT"] }] }, async (db) => {});`,
  "src/handlers/notes.ts": `import { defineApiHandler } from "@trellis/fn";
import { add, read } from "../queries.ts";
import * as z from "zod";
export const listNotes = defineApiHandler({ auth: "authorizer" })(async function listNotes() { return await read(); });
export const createNote = defineApiHandler({ auth: "bearer", schema: z.object({ title: z.string() }), responses: { 201: z.object({ id: z.string() }) } })(
  async function createNote() { await add(); return { id: "n1" }; });
export const getNote = defineApiHandler({ pathSchema: z.object({ noteId: z.string() }), cors: "https://notes.example" })(async function getNote() { return await read(); });`,
  [`${API}/notes.router.ts`]: `import { defineRouter } from "@trellis/fn/router";
import { createNote, getNote, listNotes } from "../../handlers/notes.ts";
const more = { "GET /notes/{noteId}": getNote } as const;
export const handler = defineRouter({ "GET /notes": listNotes, "POST /notes": createNote, ...more }, { timeout: 12, memorySize: 256 });`,
  "src/functions/authorizer/caller.ts":
    `import { defineAuthorizerHandler } from "@trellis/fn"; export const handler = defineAuthorizerHandler({})(async () => {});`,
};

function withProject(files: Fixture, use: (root: string) => Promise<void>): Promise<void> {
  return withFiles({ ...NOTES, ...files }, use);
}

Deno.test("generate permissions grants a router the union of what its routes need", async () => {
  await withProject({}, async (root) => {
    const { exitCode, stdout, stderr } = await permissions(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    const sql = await Deno.readTextFile(join(root, "permissions/Notes.sql"));
    assertStringIncludes(sql, 'GRANT SELECT, INSERT ON "notes"');
    assertStringIncludes(sql, 'GRANT INSERT ON "audit"');
    assert(!sql.includes("secrets"));
  });
});

Deno.test("generate infra sends preflights to a router whose routes of a path have different cors", async () => {
  const files = {
    "src/handlers/notes.ts": NOTES["src/handlers/notes.ts"]
      .replace(`{ auth: "authorizer" }`, `{ cors: "https://list.example" }`)
      .replace(`{ auth: "bearer", `, `{ auth: "bearer", cors: "https://write.example", `),
  };
  await withProject(files, async (root) => {
    await permissions(root);
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals(exitCode, 0, stdout + stderr);
    const text = await readInfra(root, "api.tf");
    assertMatch(text, /preflights = \{[^]*"\/notes" = \{[^}]*module\.fn_notes\.invoke_arn/);
    assertMatch(text, /preflights = \{[^]*"\/notes\/\{noteId\}" = \{/);
  });
});

Deno.test("generate infra writes one function with all routes of a router", async () => {
  await withProject({}, async (root) => {
    await permissions(root);
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    const text = await readInfra(root, "fn_notes.tf");
    assertEquals(text.match(/module "fn_/g)?.length, 1);
    assertMatch(text, /timeout +=\s12/);
    assertMatch(text, /memory_size +=\s256/);
    assertStringIncludes(text, "API_BEARER_TOKEN");
    const methods = [...text.matchAll(
      /"aws_api_gateway_method" "(\w+)" \{[^}]*http_method += "(\w+)"\n +authorization += "(\w+)"/g,
    )].map(([, id, method, authorization]) => `${id} ${method} ${authorization}`);
    assertEquals(methods, [
      "notes_notes_get GET CUSTOM",
      "notes_notes_post POST NONE",
      "notes_notes_by_note_id_get GET NONE",
    ]);
    assertEquals(text.match(/uri += module\.fn_notes\.invoke_arn/g)?.length, 3);
    assertMatch(
      await readInfra(root, "api.tf"),
      /"\/notes\/\{noteId\}" = \{\n[^}]*module\.fn_notes\.invoke_arn/,
    );
  });
});

Deno.test("generate openapi describes each route of a router", async () => {
  await withProject({}, async (root) => {
    const { exitCode, stdout, stderr } = await runInProcess([
      "generate",
      "openapi",
      "--project",
      root,
    ]);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    const file = /(?:created|wrote) (\S+\.json)/.exec(stdout)?.[1] ?? "openapi.json";
    const { paths } = JSON.parse(await Deno.readTextFile(join(root, file)));
    const operations = Object.entries(
      paths as Record<string, Record<string, { operationId: string }>>,
    )
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) =>
          `${method} ${path} ${operationId}`
        )
      );
    assertEquals(operations, [
      "get /notes listNotes",
      "post /notes createNote",
      "get /notes/{noteId} getNote",
    ]);
    assert("201" in paths["/notes"].post.responses);
  });
});

for (
  const [what, files, message] of [
    [
      "a route that a file serves too",
      {
        [`${API}/notes/index.get.ts`]:
          `import { defineApiHandler } from "@trellis/fn"; export const handler = defineApiHandler({})(async () => {});`,
      },
      "GET /notes is in src/functions/api/notes.router.ts too",
    ],
    [
      "keys that a variable decides",
      {
        [`${API}/notes.router.ts`]: `import { defineRouter } from "@trellis/fn/router";
import { listNotes } from "../../handlers/notes.ts";
export const handler = defineRouter({ [process.env.KEY!]: listNotes });`,
      },
      'The route "undefined" is invalid',
    ],
    [
      "a handler with a timeout of its own",
      {
        [`${API}/notes.router.ts`]: `import { defineRouter } from "@trellis/fn/router";
import { defineApiHandler } from "@trellis/fn";
export const handler = defineRouter({ "GET /a": defineApiHandler({ timeout: 3 })(async () => {}) });`,
      },
      "The handler of GET /a has the option timeout",
    ],
    [
      "a handler that streams",
      {
        [`${API}/notes.router.ts`]: `import { defineRouter } from "@trellis/fn/router";
import { responseStreaming } from "@trellis/fn/streaming";
import { defineApiHandler } from "@trellis/fn";
export const handler = defineRouter({ "GET /a": defineApiHandler({ streaming: responseStreaming() })(async () => {}) });`,
      },
      "The handler of GET /a streams its response",
    ],
    [
      "an invalid route",
      {
        [`${API}/notes.router.ts`]: `import { defineRouter } from "@trellis/fn/router";
import { listNotes } from "../../handlers/notes.ts";
export const handler = defineRouter({ "GET notes": listNotes } as any);`,
      },
      'The route "GET notes" is invalid',
    ],
    [
      "a router in a file of one method",
      {
        [`${API}/one.get.ts`]: `import { defineRouter } from "@trellis/fn/router";
import { listNotes } from "../../handlers/notes.ts";
export const handler = defineRouter({ "GET /one": listNotes });`,
      },
      "its name ends with .router.ts",
    ],
    [
      "a single handler in the file of a router",
      {
        [`${API}/one.router.ts`]:
          `import { defineApiHandler } from "@trellis/fn"; export const handler = defineApiHandler({})(async () => {});`,
      },
      "but defineApiHandler creates the handler: use defineRouter",
    ],
  ] as const
) {
  Deno.test(`generate infra refuses ${what}`, async () => {
    await withProject(files as unknown as Fixture, async (root) => {
      await permissions(root);
      const { exitCode, stdout, stderr } = await infra(root);
      assertEquals(exitCode, 1, stdout + stderr);
      assertStringIncludes(stdout + stderr, message);
    });
  });
}

const HANDLER =
  `import { defineApiHandler } from "@trellis/fn"; export const handler = defineApiHandler({})(async () => {});`;

Deno.test("generate infra warns before a second method of a path renames a function", async () => {
  await withFiles({
    "deno.json": `{ "name": "@acme/rooms" }`,
    [`${API}/rooms/[roomId].get.ts`]: HANDLER,
  }, async (root) => {
    assertEquals((await infra(root)).exitCode, 0);
    assertStringIncludes(await readInfra(root, "fn_rooms_by_room_id.tf"), '= "RoomsByRoomId"');
    await Deno.writeTextFile(join(root, `${API}/rooms/[roomId].delete.ts`), HANDLER);
    const config = (text: string) =>
      Deno.writeTextFile(
        join(root, "trellis.config.ts"),
        `import { defineConfig } from "@trellis/fn/cli";\nexport default defineConfig(${text});`,
      );
    await config(`{ functionNames: { "api/rooms/[roomId].get.ts": "RoomsByRoomId" } }`);
    const kept = await infra(root);
    assertEquals(kept.exitCode, 0, kept.stdout + kept.stderr);
    assertStringIncludes(kept.stdout, "created infra/fn_rooms_by_room_id_delete.tf");
    assert(!(kept.stdout + kept.stderr).includes("RoomsByRoomIdGet"));
    await config("{}");
    const renamed = await infra(root);
    assertStringIncludes(
      renamed.stdout + renamed.stderr,
      'add functionNames: { "api/rooms/[roomId].get.ts": "RoomsByRoomId" }',
    );
    assertStringIncludes(await readInfra(root, "fn_rooms_by_room_id_get.tf"), "RoomsByRoomIdGet");
  });
});
