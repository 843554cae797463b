import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import {
  generate,
  getDocument,
  routeFile,
  withOpenapiProject,
} from "../fixtures/openapi_project.ts";

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

Deno.test("generate openapi leaves out responses that a handler declares otherwise, and is refused", async () => {
  const head = `import { buildValidatedResponse, undeclared } from "@trellis/fn/core";
import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { Note } from "../../notes.ts";
const build = (status, context) => {
  if (status === 1) throw new NotFoundError("No such note");
  if (status === 2) return reply(410, { reason: "" });
  if (status === 3) return buildValidatedResponse(context, 307);
  if (status === 4) return buildValidatedResponse(context, 304, { id: "a" }, Note);
  if (status === 5) return undeclared(buildValidatedResponse(context, 423, {}));
  return reply(202, { id: "a" });
};
`;
  const handler = (options: string) =>
    `${head}export const handler = defineApiHandler(${options})(({ context, query }) => build(query.n, context));`;
  const { paths } = await getDocument({
    "src/notes.ts": `import * as z from "zod"; export const Note = z.object({ id: z.string() });`,
    [routeFile("open.get")]: handler("{}"),
    [routeFile("one.get")]: handler("{ responseSchema: Note }"),
    [routeFile("several.get")]: handler("{ responses: { 200: Note, 423: Note } }"),
  });
  const statuses = (path: string) =>
    Object.keys((paths as Record<string, { get: { responses: object } }>)[path].get.responses)
      .map(Number).filter((status) => status < 500);
  assertEquals(statuses("/open"), [202, 304, 307, 404, 410, 423]);
  assertEquals(statuses("/one"), [202, 307, 404, 423]);
  assertEquals(statuses("/several"), [200, 404, 423]);
});

const ERRORS = `import { AppError, ConflictError } from "@trellis/fn/errors";
import * as errors from "@trellis/fn/errors";
const CODES = { taken: "CONFLICT" } as const;
class TitleTaken extends ConflictError {}
class Coded extends AppError {
  constructor(readonly title: string, code: errors.ErrorCode = "NOT_FOUND") { super(code, title); }
}
class Late extends Coded { constructor() { super("late", "TOO_MANY_REQUESTS"); } }
class Plain extends AppError {}
class Foreign extends Error { constructor() { super("CONFLICT"); } }
export function fail(kind: string): never {
  if (kind === "literal") throw new AppError("UNPROCESSABLE_CONTENT", "No");
  if (kind === "constant") throw new errors.AppError(CODES.taken);
  if (kind === "subclass") throw new TitleTaken();
  if (kind === "argument") throw new Coded("No", "PAYLOAD_TOO_LARGE");
  if (kind === "chain") throw new Late();
  if (kind === "inherited") throw new Plain("METHOD_NOT_ALLOWED");
  throw new Foreign();
}
export function rethrow(code: errors.ErrorCode): never { throw new AppError(code); }
`;

Deno.test("generate openapi describes errors by their codes, and warns of codes of the run time", async () => {
  const handler = (name: string) =>
    `import { ${name} } from "../../fail.ts"; import { defineApiHandler } from "@trellis/fn/validation";
export const handler = defineApiHandler({})(() => ${name}(String(Math.random())));`;
  const files = {
    "src/fail.ts": ERRORS,
    [routeFile("known.get")]: handler("fail"),
    [routeFile("unknown.get")]: handler("rethrow"),
  };
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 0);
    assertMatch(stderr, /^warning src\/fail\.ts:20: the code of this AppError is only known at/m);
    const { paths } = JSON.parse(await Deno.readTextFile(join(root, "openapi.json")));
    const statuses = (path: string) => Object.keys(paths[path].get.responses);
    assertEquals(statuses("/known"), [
      "200",
      "405",
      "409",
      "413",
      "422",
      "429",
      "500",
      "503",
      "504",
    ]);
    assertEquals(statuses("/unknown"), ["200", "500", "503", "504"]);
  });
});
