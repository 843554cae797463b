import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { getIdentifiers, kebabCase, shorten } from "../../../cli/infra/names.ts";
import { snakeCase } from "../../../cli/discovery/snake_case.ts";

for (
  const [name, snake] of [
    ["NotesByNoteIdGet", "notes_by_note_id_get"],
    ["HTMLPage2Get", "html_page2_get"],
    ["Get", "get"],
  ]
) {
  Deno.test(`snakeCase() makes ${snake} of ${name}`, () => assertEquals(snakeCase(name), snake));
}

Deno.test("kebabCase() makes send-mail of SendMail", () =>
  assertEquals(kebabCase("SendMail"), "send-mail"));

Deno.test("getIdentifiers() distinguishes texts that would have one name, in any order", () => {
  const texts = ["/a/b", "/a_b", "/a-b", "/A/B", "/notes/{noteId}", "/files/{rest+}", "/"];
  const names = getIdentifiers(texts);
  assertEquals(new Set(names.values()).size, texts.length);
  assertEquals(names.get("/notes/{noteId}"), "notes_note_id");
  assertEquals(names.get("/files/{rest+}"), "files_rest");
  assertMatch(names.get("/a_b")!, /^a_b_[0-9a-f]{8}$/);
  for (const name of names.values()) assertMatch(name, /^[a-z][a-z0-9_]*$/);
  assertEquals(new Map([...getIdentifiers(texts.toReversed())].sort()), new Map([...names].sort()));
});

Deno.test("getIdentifiers() gives names that begin with a letter", () => {
  assertMatch(getIdentifiers(["/2024/report"]).get("/2024/report")!, /^[a-z]/);
});

Deno.test("shorten() keeps short texts, and distinguishes shortened ones", () => {
  assertEquals(shorten("mail", 40), "mail");
  const long = "OrganizationsByOrganizationIdMembersPost";
  const cut = shorten(`${long}-failed`, 40);
  assertEquals(cut.length, 40);
  assertNotEquals(cut, shorten(`${long}s-failed`, 40));
});
