import { assertEquals } from "@std/assert";
import {
  generate,
  getDocument,
  type Json,
  route,
  routeFile,
  withOpenapiProject,
} from "../fixtures/openapi_project.ts";

const SCHEMAS = `import * as z from "zod";
/** A category, which has more of them. */
export const CategorySchema = z.object({ name: z.string(), get children() { return z.array(CategorySchema); } });
export const Leaf = z.object({ parent: z.lazy(() => Tree).optional() }).meta({ description: "A leaf", examples: [{}] });
export const Tree = z.object({ leaves: z.array(Leaf), label: Label() });
function Label() { return z.string().max(40).meta({ description: "What it is called", examples: ["a"] }); }
export const Person = z.object({ name: z.string() }).meta({ id: "Human" });
export const Employee = Person.extend({ salary: z.int().positive(), since: z.coerce.date().default(() => new Date()) });
export const Registered = z.object({ r: z.string() });
Registered.register(z.globalRegistry, { id: "RegisteredLater", description: "Said afterwards" });
const Private = z.object({ hidden: Person });
export const Everything = z.object({
  category: CategorySchema, tree: Tree, person: Person, employee: Employee, registered: Registered, private: Private,
  count: z.string().transform(Number).pipe(z.int()), at: z.iso.datetime(), kind: z.enum(["a", "b"]).default("a"),
  any: z.unknown(), maybe: z.string().nullish(), map: z.record(z.string(), z.int()), pair: z.tuple([z.string(), z.int()]),
  shape: z.discriminatedUnion("kind", [z.object({ kind: z.literal("round"), r: z.number() }), z.strictObject({ kind: z.literal("square") })]),
});
export const Id = z.uuid();
`;

const IMPORT =
  `import { CategorySchema, Everything, Id, Tree } from "../../schemas.ts"; import * as all from "../../schemas.ts";`;

const FILES = {
  "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
    export default defineConfig({ openapi: { title: "Shop", description: "Sells", servers: ["https://a.example", { url: "https://b.example", description: "Staging" }] } });`,
  "src/schemas.ts": SCHEMAS,
  [routeFile("everything.post")]: route(
    `{
      auth: "session", schema: Everything, responseSchema: Everything,
      openapi: { summary: "All", description: "Of *it*", tags: ["b", "a"], operationId: "putAll", successStatus: 201, responses: { 409: "Is there" } },
    }`,
    IMPORT,
  ),
  [routeFile("categories/index.get")]: route(
    `{ querySchema: z.object({ limit: z.coerce.number().int().max(9).default(3), tag: z.array(z.string()).optional(), q: z.string().meta({ description: "Text", deprecated: true }) }), responseSchema: z.array(CategorySchema) }`,
    IMPORT.replaceAll("../../", "../../../"),
  ),
  [routeFile("categories/[id].get")]: route(
    `{ auth: "authorizer-optional", pathSchema: z.object({ id: Id }), responseSchema: all.CategorySchema }`,
    IMPORT.replaceAll("../../", "../../../"),
  ),
  [routeFile("files/[...rest].any")]: route(`{ auth: "bearer" }`),
  [routeFile("raw.get")]: `export const handler = async () => ({ statusCode: 200, body: "" });`,
  [routeFile("hidden.get")]: route(`{ openapi: { hidden: true } }`),
  "src/functions/queue/work.ts":
    `import { defineQueueHandler } from "@trellis/fn/triggers"; export const handler = defineQueueHandler({})(async () => {});`,
};

Deno.test("generate openapi describes a project of everything, which a validator accepts", async () => {
  const document = await getDocument(FILES);
  assertEquals(document.info, { title: "Shop", version: "2.3.4", description: "Sells" });
  assertEquals(document.servers, [{ url: "https://a.example" }, {
    url: "https://b.example",
    description: "Staging",
  }]);
  assertEquals(
    document.tags.map(({ name }: { name: string }) => name),
    ["a", "b", "categories", "files"],
  );
  assertEquals(
    Object.entries<Json>(document.paths).map(([path, item]) => `${Object.keys(item)} ${path}`),
    [
      "get /categories",
      "get /categories/{id}",
      "post /everything",
      "get,post,put,patch,delete /files/{rest}",
    ],
  );
  assertEquals(Object.keys(document.components.schemas), [
    "ApiError",
    "CategorySchema",
    "Employee",
    "EmployeeInput",
    "Everything",
    "EverythingInput",
    "Human",
    "Id",
    "Leaf",
    "RegisteredLater",
    "Tree",
  ]);
  const { schemas, securitySchemes } = document.components;
  assertEquals(Object.keys(securitySchemes), ["bearer", "session", "authorizer"]);
  assertEquals(schemas.CategorySchema, {
    type: "object",
    properties: {
      name: { type: "string" },
      children: { type: "array", items: { $ref: "#/components/schemas/CategorySchema" } },
    },
    required: ["name", "children"],
  });
  assertEquals(schemas.Leaf, {
    type: "object",
    properties: { parent: { $ref: "#/components/schemas/Tree" } },
    description: "A leaf",
    examples: [{}],
  });
  assertEquals(schemas.Tree.properties.label, {
    type: "string",
    maxLength: 40,
    description: "What it is called",
    examples: ["a"],
  });
  assertEquals(schemas.RegisteredLater.description, "Said afterwards");
  assertEquals([schemas.Employee.required, schemas.EmployeeInput.required], [
    ["name", "salary", "since"],
    ["name", "salary"],
  ]);
  const input = schemas.EverythingInput.properties;
  const output = schemas.Everything.properties;
  assertEquals(input.private.properties.hidden, { $ref: "#/components/schemas/Human" });
  assertEquals([input.employee.$ref, output.employee.$ref], [
    "#/components/schemas/EmployeeInput",
    "#/components/schemas/Employee",
  ]);
  assertEquals([input.count.type, output.count.type], ["string", "integer"]);
  assertEquals(schemas.EverythingInput.required.includes("kind"), false);
  assertEquals(schemas.Everything.required.includes("kind"), true);
  assertEquals(output.shape.oneOf.map((part: Json) => part.additionalProperties), [
    undefined,
    false,
  ]);

  const { post } = document.paths["/everything"];
  assertEquals([post.operationId, post.summary, post.description, post.tags, post.security], [
    "putAll",
    "All",
    "Of *it*",
    ["b", "a"],
    [{ session: [] }],
  ]);
  assertEquals(Object.keys(post.responses), [
    "201",
    "400",
    "401",
    "403",
    "409",
    "413",
    "415",
    "500",
    "503",
    "504",
  ]);
  assertEquals(post.responses["409"].description, "Is there");
  assertEquals(post.requestBody.content["application/json"].schema, {
    $ref: "#/components/schemas/EverythingInput",
  });
  const one = document.paths["/categories/{id}"].get;
  assertEquals(one.parameters, [{
    name: "id",
    in: "path",
    required: true,
    schema: { $ref: "#/components/schemas/Id" },
  }]);
  assertEquals(one.operationId, "CategoriesById");
  assertEquals(one.responses["200"].content["application/json"].schema, {
    $ref: "#/components/schemas/CategorySchema",
  });
  assertEquals(document.paths["/categories"].get.parameters, [
    {
      name: "limit",
      in: "query",
      required: false,
      schema: { default: 3, type: "integer", format: "int64", maximum: 9 },
    },
    {
      name: "tag",
      in: "query",
      required: false,
      schema: { type: "array", items: { type: "string" } },
    },
    {
      name: "q",
      in: "query",
      required: true,
      description: "Text",
      deprecated: true,
      schema: { type: "string" },
    },
  ]);
});

Deno.test("generate openapi gives the same document in another folder and in any order of files", async () => {
  const one = await getDocument(FILES);
  const other = await getDocument(Object.fromEntries(Object.entries(FILES).reverse()));
  assertEquals(JSON.stringify(one), JSON.stringify(other));
});

Deno.test("generate openapi names operations by id, by the handler's name, and by the function where that is not enough", async () => {
  const handler = (options: string, fn: string) =>
    `import { defineApiHandler } from "@trellis/fn"; export const handler = defineApiHandler(${options})(${fn});`;
  const document = await getDocument({
    [routeFile("a.get")]: handler("{}", "function listThings() {}"),
    [routeFile("b.get")]: handler(`{ operationName: "Named" }`, "function other() {}"),
    [routeFile("c.get")]: handler("{}", "() => {}"),
    [routeFile("d.get")]: handler("{}", "function twice() {}"),
    [routeFile("e.get")]: handler("{}", "function twice() {}"),
    [routeFile("f.get")]: handler(`{ openapi: { operationId: "mine" } }`, "function mine() {}"),
    [routeFile("g.get")]: handler("{}", "function mine() {}"),
  });
  const ids = Object.values<Json>(document.paths).map(({ get }) => get.operationId);
  assertEquals(ids, ["listThings", "Named", "C", "D", "E", "mine", "G"]);
});

Deno.test("generate openapi puts the file before the name of schemas that two files export under one, and says so", async () => {
  const schema = (field: string) =>
    `import * as z from "zod"; export const Note = z.object({ ${field}: z.string() });`;
  const files = {
    "src/admin/schemas.ts": schema("a"),
    "src/public/schemas.ts": schema("b"),
    [routeFile("a.get")]: route(
      `{ responseSchema: Note }`,
      `import { Note } from "../../admin/schemas.ts";`,
    ),
    [routeFile("b.get")]: route(
      `{ responseSchema: Note }`,
      `import { Note } from "../../public/schemas.ts";`,
    ),
  };
  const document = await getDocument(files);
  assertEquals(Object.keys(document.components.schemas), [
    "ApiError",
    "src.admin.schemas.Note",
    "src.public.schemas.Note",
  ]);
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals([exitCode, stderr], [
      0,
      'warning src/admin/schemas.ts:1: Note is exported by src/public/schemas.ts:1 too, so the component names contain the file name. Set .meta({ id: "…" }) on one of them\n',
    ]);
  });
});

Deno.test("generate openapi documents the errors that a handler's code can end with", async () => {
  const document = await getDocument({
    "src/service.ts":
      `import { ConflictError, NotFoundError } from "@trellis/fn/errors"; import * as errors from "@trellis/fn/errors";
      export function load(id: string) { return id === "" ? refuse() : id; }
      const refuse = () => { throw new errors.ForbiddenError("no"); };
      export class Service { save() { throw new ConflictError("taken"); } never() {} }
      export function unused() { throw new NotFoundError("x"); }
      export const isThere = (error: unknown) => error instanceof NotFoundError;`,
    [routeFile("a.get")]: route(
      "{}",
      `import { isThere, load } from "../../service.ts";`,
      `if (isThere(1)) load("x");`,
    ),
    [routeFile("b.get")]: route(
      "{}",
      `import { Service } from "../../service.ts"; const service = new Service();`,
      `service.save();`,
    ),
    [routeFile("c.get")]: route(
      "{}",
      `import { buildValidatedResponse } from "@trellis/fn/core"; import { assertRowExists } from "@trellis/fn/database";`,
      `await assertRowExists(); if (params) return buildValidatedResponse(params.context, 404, {}); return buildValidatedResponse(params.context, 200, {});`,
    ),
    [routeFile("d.get")]: route(
      "{}",
      `import { validatePaymentsWebhook as check } from "@trellis/fn/auth";`,
      `await check();`,
    ),
    "src/queries.ts": `import { createQueryFactory } from "@trellis/fn/database";
      const queries = createQueryFactory(() => Promise.reject());
      const { defineQuery } = queries;
      const answer = { field: "a", message: "b" };
      const answers = { users_key: answer };
      export const taken = defineQuery({ tables: [], constraints: { users_email_unique: answer } }, async () => {});
      export const checked = queries.definePreparedQuery(
        { tables: [], constraints: { users_age_check: answer, "users_name_not_null": answer, 22001: answer } },
        async () => {},
      );
      export const either = defineQuery({ tables: [], constraints: answers }, async () => {});
      export const none = defineQuery({ tables: [] }, async () => {});`,
    ...Object.fromEntries(["taken", "checked", "either", "none"].map((name) => [
      routeFile(`e_${name}.get`),
      route("{}", `import { ${name} } from "../../queries.ts";`, `await ${name}();`),
    ])),
  });
  const statuses = Object.values<Json>(document.paths).map(({ get }) => Object.keys(get.responses));
  assertEquals(
    statuses.map((one) => one.filter((status) => !["200", "500", "503", "504"].includes(status))),
    [
      ["403"],
      ["409"],
      ["404", "409"],
      ["401"],
      ["400"],
      ["409"],
      [],
      ["409"],
    ],
  );
});
