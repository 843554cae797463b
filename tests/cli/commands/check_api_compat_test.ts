import { assertEquals, assertStringIncludes } from "@std/assert";
import { checkApiCompat } from "../../../cli/commands/check_api_compat.ts";
import { generateOpenapi } from "../../../cli/commands/generate_openapi.ts";
import { runInProcess } from "../fixtures/run.ts";
import { type Json, routeFile, withOpenapiProject } from "../fixtures/openapi_project.ts";

const COMMANDS = { commands: [checkApiCompat, generateOpenapi] };
const check = (root: string, ...args: string[]) =>
  runInProcess(["check", "api-compat", "--project", root, ...args], COMMANDS);

const SOURCE = `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
export const NoteInput = z.object({ title: z.string().max(200), tags: z.array(z.string()).optional() });
export const Note = z.object({ id: z.string(), title: z.string().max(200), kind: z.enum(["a", "b"]) });
export const handler = defineApiHandler({ schema: NoteInput, querySchema: z.object({ limit: z.coerce.number().int().max(50).optional() }), responses: { 201: Note } })(
  () => reply(201, { id: "", title: "", kind: "a" }));
`;

type Expected = readonly (readonly [direction: string, isBreaking: boolean, message: string])[];

/** Edits of the source, with the changes that they are. */
const EDITS: readonly (readonly [name: string, from: string, to: string, changes: Expected])[] = [
  ["a shorter input", "title: z.string().max(200), tags", "title: z.string().max(100), tags", [
    ["request", true, "the body, title: may not fit maxLength 100"],
  ]],
  ["a longer input", "title: z.string().max(200), tags", "title: z.string().max(300), tags", [
    ["request", false, "the body changed in a compatible way"],
  ]],
  ["a new required field", "tags: z.array(z.string()).optional()", "tags: z.array(z.string())", [
    ["request", true, "the body, tags: may be missing"],
  ]],
  ["a longer answer", "title: z.string().max(200), kind", "title: z.string(), kind", [
    ["response", true, "the body of 201, title: may not fit maxLength 200"],
  ]],
  ["a new value of an answer", '["a", "b"]', '["a", "b", "c"]', [
    ["response", true, 'the body of 201, kind: may be "c"'],
  ]],
  ["a value less of an answer", '["a", "b"]', '["a"]', [
    ["response", false, "the body of 201 changed in a compatible way"],
  ]],
  ["a new field of an answer", "id: z.string(), title", "id: z.string(), at: z.string(), title", [
    ["response", false, "the body of 201 changed in a compatible way"],
  ]],
  ["a field less of an answer", "id: z.string(), title", "title", [
    ["response", true, "the body of 201, id: may be missing"],
  ]],
  ["a required parameter", "max(50).optional()", "max(50)", [
    ["request", true, "the parameter query limit is required"],
  ]],
  ["a parameter less", "{ limit: z.coerce.number().int().max(50).optional() }", "{}", [
    ["request", false, "the parameter query limit was removed"],
  ]],
  ["a session", "defineApiHandler({ ", 'defineApiHandler({ auth: "session", ', [
    ["request", true, "security was none and is session"],
    ["response", false, "the status 401 was added"],
    ["response", false, "the status 403 was added"],
  ]],
  ["another status of success", "responses: { 201", "responses: { 200", [
    ["response", false, "the status 201 was removed"],
    ["response", true, "the status 200 was added"],
  ]],
];

Deno.test("check api-compat classifies changes by direction", async (t) => {
  await withOpenapiProject({ [routeFile("notes.post")]: SOURCE }, async (root) => {
    const file = `${root}/${routeFile("notes.post")}`;
    await runInProcess(["generate", "openapi", "--project", root], COMMANDS);
    const same = await check(root, "--against", "openapi.json");
    assertEquals([same.exitCode, same.stdout], [0, "The API is the same as in openapi.json\n"]);
    for (const [name, from, to, expected] of EDITS) {
      await t.step(name, async () => {
        assertStringIncludes(SOURCE, from);
        await Deno.writeTextFile(file, SOURCE.replace(from, to));
        const { exitCode, stdout } = await check(root, "--against", "openapi.json", "--json");
        const found = JSON.parse(stdout).changes.map((change: Json) => {
          assertEquals(change.operation, "POST /notes");
          return [change.direction, change.isBreaking, change.message];
        });
        assertEquals(found, expected);
        assertEquals(exitCode, expected.some(([, isBreaking]) => isBreaking) ? 1 : 0);
      });
    }
  });
});

Deno.test("check api-compat compares with a version of git, and refuses what is no version", async () => {
  await withOpenapiProject({ [routeFile("notes.post")]: SOURCE }, async (root) => {
    const git = async (...args: string[]) => {
      const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
      const { success, stderr } = await new Deno.Command("git", {
        args: [...identity, ...args],
        cwd: root,
      }).output();
      assertEquals(success, true, new TextDecoder().decode(stderr));
    };
    await runInProcess(["generate", "openapi", "--project", root], COMMANDS);
    await git("init", "--quiet");
    await git("add", ".");
    await git("commit", "--quiet", "--message", "first");
    await git("tag", "v1");
    await Deno.rename(`${root}/${routeFile("notes.post")}`, `${root}/${routeFile("memos.post")}`);
    const { exitCode, stdout } = await check(root, "--against", "v1");
    assertEquals(exitCode, 1);
    assertEquals(
      stdout,
      `breaking POST /notes (request): the operation was removed
compatible POST /memos (request): the operation was added
1 breaking and 1 compatible changes since v1
`,
    );
    for (const against of ["v2", "--output=x", "HEAD~7"]) {
      const refused = await check(root, `--against=${against}`);
      assertEquals(refused.exitCode, 3);
      assertStringIncludes(
        refused.stderr,
        `${
          JSON.stringify(against)
        } is neither a file nor a version of git that contains openapi.json`,
      );
    }
    const other = await check(root, "--against", "package.json");
    assertEquals(other.exitCode, 3);
    assertStringIncludes(other.stderr, "package.json is not an OpenAPI document");
    assertEquals((await check(root)).exitCode, 2);
  });
});
