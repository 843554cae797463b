import { closeDrizzleClient, runMigrations } from "@trellis/fn/database";
import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

process.env.DATABASE_URL = "memory://";
const { databaseConfig } = await import("../src/database.ts");
const auth = await import("../src/functions/api/auth/[...proxy].any.ts");
const getNotes = await import("../src/functions/api/notes/index.get.ts");
const postNote = await import("../src/functions/api/notes/index.post.ts");

before(() =>
  runMigrations({
    migrationsFolder: fileURLToPath(new URL("../migrations", import.meta.url)),
    database: databaseConfig,
  })
);
after(() => closeDrizzleClient());

async function signUpAda(): Promise<Record<string, string>> {
  const body = { name: "Ada", email: "ada@example.com", password: "correct-horse" };
  const event = createRestApiEvent({ method: "POST", path: "/auth/sign-up/email", body });
  const response = await auth.handler(event, createLambdaContext());
  assert.equal(response.statusCode, 200, response.body);
  return { Authorization: `Bearer ${JSON.parse(response.body).token}` };
}

test("a note that was written is listed for its author, and for nobody else", async () => {
  const headers = await signUpAda();
  const post = createRestApiEvent({
    method: "POST",
    path: "/notes",
    headers,
    body: { title: "Milk" },
  });
  assert.equal((await postNote.handler(post, createLambdaContext())).statusCode, 201);
  const listed = await getNotes.handler(
    createRestApiEvent({ path: "/notes", headers }),
    createLambdaContext(),
  );
  assert.deepEqual(JSON.parse(listed.body).notes.map((note: { title: string }) => note.title), [
    "Milk",
  ]);
  const anonymous = await getNotes.handler(
    createRestApiEvent({ path: "/notes" }),
    createLambdaContext(),
  );
  assert.equal(anonymous.statusCode, 401);
});
