import { assertEquals } from "@std/assert";
import { getDocument, routeFile } from "../fixtures/openapi_project.ts";

const IMPORTS = `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { answer, Note, Problem } from "../../notes.ts";`;
const FILES = {
  "src/notes.ts": `import * as z from "zod";
import { buildValidatedResponse } from "@trellis/fn/core";
export const Note = z.object({ id: z.string() });
export const Problem = z.object({ reason: z.string() });
export const answer = (context, note) => buildValidatedResponse(context, 202, note, Note);
`,
  [routeFile("declared.post")]: `${IMPORTS}
export const handler = defineApiHandler({ responses: { 201: Note, 409: Problem } })(() => reply(201, { id: "a" }));`,
  [routeFile("built.post")]: `${IMPORTS}
export const handler = defineApiHandler({})(({ context }) => buildValidatedResponse(context, 201, { id: "a" }, Note));`,
  [routeFile("helper.get")]: `${IMPORTS}
export const handler = defineApiHandler({})(({ context }) => Math.random() > 1
  ? buildValidatedResponse(context, 204) : answer(context, { id: "a" }));`,
  [routeFile("either.get")]: `${IMPORTS}
export const handler = defineApiHandler({})(({ context }) => Math.random() > 1
  ? buildValidatedResponse(context, 200, { id: "a" }, Note) : buildValidatedResponse(context, 200, { reason: "" }, Problem));`,
  [routeFile("replied.get")]: `${IMPORTS}
export const handler = defineApiHandler({ responseSchema: Note })(() => Math.random() > 1
  ? reply(201, { id: "a" }) : reply(200, { id: "b" }));`,
  [routeFile("local.get")]: `${IMPORTS}
export const handler = defineApiHandler({})(({ context }) => {
  const Local = Note.extend({ at: Problem });
  return buildValidatedResponse(context, 203, {}, Local);
});`,
  [routeFile("foreign.get")]: `${IMPORTS}
const Foreign = { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } };
export const handler = defineApiHandler({})(({ context }) => buildValidatedResponse(context, 200, {}, Foreign));`,
};

Deno.test("generate openapi describes the responses that handlers declare, reply and build", async () => {
  const { paths } = await getDocument(FILES);
  const successes = Object.fromEntries(
    Object.entries(paths as Record<string, Record<string, { responses: object }>>).map((
      [path, methods],
    ) => {
      const [{ responses }] = Object.values(methods);
      const described = Object.entries(responses as Record<string, { content?: object }>)
        .filter(([status]) => Number(status) < 300 || path === "/declared" && status === "409")
        .map(([status, { content }]) => [
          status,
          (Object.values(content ?? {})[0] as { schema: object } | undefined)?.schema,
        ]);
      return [path, Object.fromEntries(described)];
    }),
  );
  const note = { $ref: "#/components/schemas/Note" };
  const problem = { $ref: "#/components/schemas/Problem" };
  assertEquals(successes, {
    "/declared": { 201: note, 409: problem },
    "/built": { 201: note },
    "/helper": { 202: note, 204: undefined },
    "/either": { 200: { anyOf: [note, problem] } },
    "/replied": { 200: note, 201: note },
    "/local": { 203: {} },
    "/foreign": { 200: {} },
  });
});
