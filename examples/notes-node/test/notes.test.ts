import { createTestClient } from "@trellis/fn/testing";
import assert from "node:assert/strict";
import { test } from "node:test";

test("a note that was written is listed for its author, and for nobody else", async () => {
  await using api = await createTestClient();
  const ada = await api.createTestUser();
  await api.post("/notes", { as: ada, body: { title: "Milk" }, expect: 201 });
  const { body } = await api.get("/notes", { as: ada, expect: 200 });
  assert.deepEqual(body.notes.map((note: { title: string }) => note.title), ["Milk"]);
  const { body: others } = await api.get("/notes", { as: await api.createTestUser() });
  assert.deepEqual(others.notes, []);
  await api.get("/notes", { expect: 401 });
});
