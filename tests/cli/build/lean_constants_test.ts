import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { join } from "node:path";
import { applyEdits } from "../../../cli/analysis/slice_names.ts";
import { createModulePaths } from "../../../cli/build/module_paths.ts";
import { compileQueries } from "../../../cli/build/precompile_queries/compile_queries.ts";
import { denoProjectFiles, writeTestProject } from "./project.ts";

const IMPORTS = `import { desc, eq, sql } from "@trellis/fn/database/orm";
import { createQueryFactory, DatabaseOperation, getDrizzleClient } from "@trellis/fn/database";
import { relations } from "drizzle-orm";
import * as pg from "drizzle-orm/pg-core";
import { integer, pgEnum, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { nanoid } from "nanoid";
import { notes } from "../../schema.ts";
import * as schema from "../../schema.ts";
`;

/** Modules with the constants that a bundle may omit. */
const CONSTANTS: readonly (readonly [code: string, omitted: readonly string[]])[] = [
  [`export const tags = pgTable("tags", { id: integer("id").references(() => notes.id) });`, [
    "tags",
  ]],
  [`export const tags = pg.pgTable("tags", { id: pg.integer("id") });`, ["tags"]],
  [
    `const instant = (name: string) => timestamp(name); export const tags = pgTable("tags", { at: instant("at") });`,
    ["tags"],
  ],
  [`export const tags = pgTable("tags", { id: text("id").$defaultFn(() => nanoid()) });`, ["tags"]],
  [`export const tags = pgTable("tags", { id: text("id") }, (t) => [pg.index("i").on(t.id)]);`, [
    "tags",
  ]],
  [`export const color = pgEnum("color", ["red"]), shade = color("shade");`, ["color", "shade"]],
  [`export const links = relations(notes, ({ many }) => ({ notes: many(notes) }));`, ["links"]],
  [`export const given = sql.placeholder, NEW = { id: given("id"), title: schema.notes.title };`, [
    "given",
    "NEW",
  ]],
  [`export const byAge = [desc(notes.id)], own = eq(notes.id, sql.placeholder("id"));`, [
    "byAge",
    "own",
  ]],
  [`export const { id, ...REST } = { id: notes.id, title: notes.title };`, ["id", "REST"]],
  [
    `const { Select } = DatabaseOperation; export const reads = { tables: [{ table: notes, operations: [Select] }] };`,
    ["reads"],
  ],
  [`export const text_ = sql\`lower(\${notes.title})\`;`, ["text_"]],
  // what has no part of drizzle stays
  [`export const list = [1, 2], map = new Map();`, []],
  // the moment, the machine, and other packages
  [`export const tags = pgTable(\`\${process.env.PREFIX}tags\`, { id: integer("id") });`, []],
  [`export const tags = pgTable(nanoid(), { id: integer("id") });`, []],
  [`export const since = eq(notes.title, String(Date.now()));`, []],
  [`export const since = eq(notes.title, String(new Date()));`, []],
  [`export const tags = (console.log("tags"), pgTable("tags", { id: integer("id") }));`, []],
  // effects
  [
    `const all: object[] = []; export const tags = pgTable("tags", { id: integer("id") }), count = all.push(tags);`,
    ["tags"],
  ],
  [`let count = 0; const next = () => ++count; export const own = eq(notes.id, next());`, []],
  [
    `const state = { n: 0 }; const next = () => { state.n = state.n + 1; return state.n; }; export const own = eq(notes.id, next());`,
    [],
  ],
  [`const ids = [1, 2].values(); export const own = eq(notes.id, ids.next().value!);`, []],
  [
    `const ids = [1, 2].values(), take = () => { for (const id of ids) return id; }; export const own = eq(notes.id, take()!);`,
    [],
  ],
  [`const all = [1, 2], name = "pop"; export const own = eq(notes.id, all[name]()!);`, []],
  [`const shared = { a: 1 }; export const own = [Object.freeze(shared), notes.id];`, []],
  [`const rule = /a/g; export const own = [rule.test("a"), notes.id];`, []],
  [
    `class Counted { static n = 0; constructor() { Counted.n++; } } export const own = [new Counted(), notes.id];`,
    [],
  ],
  // a later change
  [
    `export const FIELDS = { id: notes.id } as Record<string, unknown>, ALL = { ...FIELDS }; FIELDS.title = notes.title;`,
    [],
  ],
  [`export let own = eq(notes.id, 1); own = eq(notes.id, 2);`, []],
  // errors of the program
  [`export const own = (notes as any).nothing.id;`, []],
  [`export const { id = notes.id } = {} as { id?: unknown };`, []],
];

/** Options of queries, and their code without drizzle. */
const OPTIONS: readonly (readonly [options: string, code: string | undefined])[] = [
  [
    `{ tables: [{ table: notes, operations: ["SELECT"] }] }`,
    `{ "tables": [{ "table": T, "operations": ["SELECT"] }] }`,
  ],
  [
    `{ tables: [{ table: schema.notes, operations: [DatabaseOperation.Select] }], transaction: true, retry: false }`,
    `{ "tables": [{ "table": T, "operations": ["SELECT"] }], "transaction": true, "retry": false }`,
  ],
  [
    `{ tables: [{ table: "notes", operations: ["SELECT"] }], name: undefined }`,
    `{ "tables": [{ "table": "notes", "operations": ["SELECT"] }], "name": undefined }`,
  ],
  // only the tables are known
  [
    `{ tables: [{ table: notes, operations: ["SELECT"] }], name: process.env.NAME }`,
    `{ tables: [{ "table": T, "operations": ["SELECT"] }], name: process.env.NAME }`,
  ],
  [
    `{ tables: [{ table: notes, operations: ["SELECT"] }], retry: { isRetryable: () => false } as never }`,
    `{ tables: [{ "table": T, "operations": ["SELECT"] }], retry: { isRetryable: () => false } as never }`,
  ],
  // nothing is known
  [`{ ...OTHER, tables: [{ table: notes, operations: ["SELECT"] }] }`, undefined],
  [`{ tables: CHANGED }`, `{ tables: CHANGED }`],
  [`{ tables: [{ table: notes, operations: [process.env.OPERATION as "SELECT"] }] }`, undefined],
];

async function changeAll(modules: readonly string[]): Promise<string[]> {
  const path = (index: number) => `src/functions/api/f${index}.get.ts`;
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/schema.ts":
      `import { integer, pgTable, text } from "drizzle-orm/pg-core";\nexport const notes = pgTable("notes", { id: integer("id"), title: text("title") });\n`,
    ...Object.fromEntries(modules.map((code, index) => [path(index), IMPORTS + code])),
  });
  try {
    const { root } = project;
    const files = modules.map((_, index) => join(root, path(index)));
    const queries = await compileQueries({ root, files, paths: createModulePaths(root) });
    return modules.map((code, index) => {
      const edits = queries!.lean.changes.get(files[index])?.edits ?? [];
      return applyEdits(IMPORTS + code, IMPORTS.length, edits);
    });
  } finally {
    await project.remove();
  }
}

Deno.test("trellis build omits only constants whose evaluation has no effect", async () => {
  const changed = await changeAll(CONSTANTS.map(([code]) => code));
  const found = changed.map((text) =>
    [...text.matchAll(/([\w]+) = \/\* @__PURE__ \*\/ \(\(\) => /g)].map(([, name]) => name)
      .filter((name) => !name.startsWith("__"))
  );
  assertEquals(
    CONSTANTS.map(([code], index) => [code, found[index]]),
    CONSTANTS.map(([code, omitted]) => [code, omitted]),
  );
});

/** Parts of constants: those that may be omitted, and others. */
const PARTS = {
  drizzle: [
    "notes.id",
    "desc(notes.title)",
    "sql.placeholder('id')",
    "eq(schema.notes.id, 1)",
    "ofTitle('a')",
  ],
  plain: ["1", "'text'", "[1, 2].map((n) => n + 1)", "{ a: { b: null } }", "Object.keys({ a: 1 })"],
  other: [
    "process.env.HOME",
    "Date.now()",
    "nanoid()",
    "(state.n = 1)",
    "all.push(1)",
    "next()",
    "missing.id",
    "Math.random()",
  ],
};

Deno.test("trellis build omits generated constants if each of their parts may be omitted", async () => {
  const part = fc.record({
    kind: fc.constantFrom("drizzle" as const, "plain" as const, "plain" as const, "other" as const),
    index: fc.nat(),
    wrap: fc.constantFrom(
      (code: string) => code,
      (code: string) => `[${code}]`,
      (code: string) => `{ ...{ a: ${code} } }`,
      (code: string) => `((value: unknown) => ({ value }))(${code})`,
    ),
  });
  const [lists] = fc.sample(
    fc.array(fc.array(part, { minLength: 1, maxLength: 4 }), { minLength: 60, maxLength: 60 }),
    1,
  );
  const modules = lists.map((parts) => {
    const code = parts.map(({ kind, index, wrap }) =>
      wrap(PARTS[kind][index % PARTS[kind].length])
    );
    return `declare const missing: { id: number };
const state = { n: 0 }, all: number[] = [];
let count = 0;
const next = () => ++count;
const ofTitle = (title: string) => eq(notes.title, title);
export const own = [${code}];
`;
  });
  const changed = await changeAll(modules);
  const expected = lists.map((parts) => {
    const kinds = new Set(parts.map(({ kind }) => kind));
    return kinds.has("drizzle") && !kinds.has("other");
  });
  assertEquals(
    changed.map((text, index) => [modules[index], text.includes("own = /* @__PURE__ */")]),
    expected.map((isOmitted, index) => [modules[index], isOmitted]),
  );
});

Deno.test("trellis build writes the options of queries without drizzle", async () => {
  const start =
    "const { defineQuery } = createQueryFactory(() => getDrizzleClient({} as never));\n" +
    "const OTHER = { name: process.env.NAME };\n" +
    "const CHANGED = [{ table: notes, operations: ['SELECT' as const] }]; CHANGED.pop();\n";
  const modules = OPTIONS.map(([options]) =>
    `${start}export const q = defineQuery(${options}, async () => {});`
  );
  const changed = await changeAll(modules);
  const codes = changed.map((text) => {
    const [, code] = /defineQuery\((.*), async \(\) => \{\}\)/.exec(text)!;
    return code.includes("__trellisKept") ? undefined : code.replace(/__trellisTable\d+/g, "T");
  });
  assertEquals(
    OPTIONS.map(([options], index) => [options, codes[index]]),
    OPTIONS.map(([options, code]) => [options, code]),
  );
});
