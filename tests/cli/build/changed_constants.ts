import fc from "fast-check";

/** A function whose schema is made of constants, which other code may change. */
export interface GeneratedModule {
  /** Texts by path, relative to the folder of the functions' sources. */
  readonly files: Readonly<Record<string, string>>;
  /** True if code changes something that the schema is made of. */
  readonly isChanged: boolean;
}

/** A declaration, what schemas are made of it, and code that changes it. */
interface Constant {
  readonly declare: string;
  readonly uses: readonly string[];
  readonly changes: readonly string[];
}

const CONSTANTS: Readonly<Record<string, Constant>> = {
  LIST: {
    declare: `const LIST = ["a", "b"] as const;`,
    uses: ["z.enum(LIST)", "z.enum([...LIST, 'e'])", "z.literal(LIST)", "z.literal(LIST[0])"],
    changes: [
      `(LIST as unknown as string[]).push("c");`,
      `(LIST as unknown as string[])[0] = "c";`,
      `Object.assign(LIST, { 0: "c" });`,
      `const sameList = LIST as unknown as string[]; sameList.length = 1;`,
      `change(LIST);`,
      `for (const each of [LIST]) (each as unknown as string[]).unshift("c");`,
    ],
  },
  WORDS: {
    declare: `const WORDS = { one: "a", two: "b" } as const;`,
    uses: [
      "z.enum(WORDS)",
      "z.literal(WORDS.one)",
      "z.string().default(WORDS.two)",
      "z.object({ x: z.string() }).default({ x: WORDS.one })",
    ],
    changes: [
      `Object.assign(WORDS, { one: "c" });`,
      `(WORDS as { one: string }).one = "c";`,
      `Reflect.set(WORDS, "two", "c");`,
      `Object.defineProperty(WORDS, "one", { value: "c" });`,
      `const { words } = { words: WORDS }; delete (words as { two?: string }).two;`,
    ],
  },
  MAX: {
    declare: `const MAX = 2;`,
    uses: ["z.string().max(MAX)", "z.int().max(MAX * 2 + 1)", "z.array(z.string()).max(MAX)"],
    changes: [],
  },
  SIZE: {
    declare: `let SIZE = 1;`,
    uses: ["z.string().min(SIZE)", "z.int().min(-SIZE)"],
    changes: [`SIZE = 2;`, `SIZE++;`, `[SIZE] = [3];`, `({ x: SIZE } = { x: 2 });`],
  },
  PATTERN: {
    declare: `const PATTERN = /^[a-c]+$/;`,
    uses: ["z.string().regex(PATTERN)", "z.string().regex(PATTERN).optional()"],
    changes: [`PATTERN.compile("^x$");`, `change(PATTERN);`],
  },
  SHAPE: {
    declare: `const SHAPE = { q: z.string() };`,
    uses: ["z.object(SHAPE)", "z.object({ ...SHAPE })", "SHAPE.q.optional()"],
    changes: [`SHAPE.q = z.string().max(1);`, `Object.assign(SHAPE, { r: z.int() });`],
  },
  BASE: {
    declare: `const BASE = z.object({ q: z.string().optional() });`,
    uses: [
      "BASE",
      "BASE.optional()",
      "BASE.extend({ r: z.int().optional() })",
      "z.strictObject({ ...BASE.shape })",
      "z.array(BASE)",
      "BASE.shape.q",
    ],
    changes: [
      `Object.assign(BASE.shape, { q: z.int() });`,
      `(BASE.shape as Record<string, unknown>).q = z.int();`,
      `const sameBase = BASE; sameBase._zod.def.shape.q = z.int();`,
      `change(BASE.shape);`,
      `change(BASE._zod.def);`,
      `const holder = { schema: BASE }; (holder.schema.shape as Record<string, unknown>).q = z.int();`,
      `BASE._zod.parse = (payload) => payload;`,
      `BASE.safeParse = (() => ({ success: true, data: 1 })) as never;`,
    ],
  },
  // esbuild replaces a member of an enum by its value, so that the enum as a whole is used
  COLOR: {
    declare: `enum COLOR { Red = "a", Blue = "b" }`,
    uses: ["z.enum(COLOR)", "z.enum(COLOR).optional()"],
    changes: [`Object.assign(COLOR, { Red: "c" });`, `(COLOR as { Green?: string }).Green = "c";`],
  },
  LITERALS: {
    declare: ``,
    uses: [
      "z.enum(['a', 'b'])",
      "z.string().trim().min(1)",
      "z.array(z.int()).default([1])",
      "z.literal(['a', 1, null])",
      "z.string().regex(/^[a-d]+$/)",
      "z.object({ q: z.string().nullable() }).partial()",
    ],
    changes: [],
  },
};

/** Changes a value that it is given: one that no reader of the caller sees. */
const CHANGE = `function change(value: any) {
  for (const key of Object.keys(value)) { value[key] = z.int(); break; }
  if (value instanceof RegExp) value.compile("^y$");
}`;

const HANDLERS: readonly string[] = [
  "defineApiHandler({ schema: S })",
  "defineApiHandler({ schema: S, operationName: 'same' })",
  "defineApiHandler({ schema: z.object({ a: S.shape.a, b: S.shape.b.optional() }) })",
  "defineApiHandler(OPTIONS)",
];

/** Bodies that are sent in turn, so that a change at the first request shows at the next one. */
export const BODIES: readonly unknown[] = [
  { a: "a", b: "a" },
  { a: "c", b: "c" },
  { a: "b" },
  { b: "" },
  { a: { q: "a" }, b: { q: "abc", r: 1 } },
  { a: { q: 1 }, b: { q: 1 } },
  { a: 1, b: 5 },
  { a: "abc", b: "d" },
  { a: ["a", "b", "c"], b: [{ q: "a" }, { q: 2 }] },
  { a: "y", b: "x" },
  {},
];

interface Choice {
  readonly constants: readonly [string, string];
  readonly uses: readonly [number, number];
  /** The change of each constant; -1 for none. */
  readonly changes: readonly [number, number];
  readonly place: "before" | "after" | "handler" | "module" | "never";
  readonly isApart: boolean;
  readonly handler: number;
}

const names = fc.constantFrom(...Object.keys(CONSTANTS));
const index = fc.nat(99);
const choices: fc.Arbitrary<Choice> = fc.record({
  constants: fc.tuple(names, names),
  uses: fc.tuple(index, index),
  changes: fc.tuple(fc.integer({ min: -1, max: 99 }), fc.integer({ min: -1, max: 99 })),
  place: fc.constantFrom("before", "after", "handler", "module", "never"),
  isApart: fc.boolean(),
  handler: fc.constantFrom(0, 0, 0, 1, 2, 3),
});

/** Generates functions; the first ones try each change of each constant at each place. */
export function generateModules(seed: number, count: number): GeneratedModule[] {
  const each = Object.entries(CONSTANTS).flatMap(([name, { changes }]) =>
    changes.flatMap((_, change) =>
      (["before", "after", "handler", "module"] as const).map((place, at): Choice => ({
        constants: [name, "LITERALS"],
        uses: [change + at, change],
        changes: [change, -1],
        place,
        isApart: place === "module" || change % 2 === 1,
        handler: 0,
      }))
    )
  );
  return [...each, ...fc.sample(choices, { seed, numRuns: Math.max(0, count - each.length) })]
    .map(render);
}

function render(choice: Choice, number: number): GeneratedModule {
  const { constants, uses, changes, place, isApart, handler } = choice;
  const used = [...new Set(constants)];
  const pick = <T>(list: readonly T[], at: number): T => list[at % list.length];
  const changed = place === "never" ? [] : [
    ...new Set(constants.flatMap((name, at) => {
      const list = CONSTANTS[name].changes;
      return changes[at] < 0 || list.length === 0 ? [] : [pick(list, changes[at])];
    })),
  ];
  // a module cannot assign to what it imports
  const mustStay = used.includes("SIZE") && place !== "module";
  const apart = isApart && !mustStay;
  const declared = used.map((name) => CONSTANTS[name].declare).filter((text) => text !== "");
  const exported = apart ? declared.map((text) => `export ${text}`) : declared;
  const imported = used.filter((name) => CONSTANTS[name].declare !== "");
  const own = `../../constants_${number}.ts`;
  const at = (where: Choice["place"]) => place === where ? changed.join("\n") : "";
  const inOther = apart ? at("module") : "";
  const [first, second] = constants.map((name, each) => pick(CONSTANTS[name].uses, uses[each]));
  const text = `import { defineApiHandler } from "@trellis/fn/validation";
import { buildValidatedResponse } from "@trellis/fn/core";
import * as z from "zod";
${apart && imported.length > 0 ? `import { ${imported.join(", ")} } from "${own}";` : ""}
${apart ? "" : exported.join("\n")}
${CHANGE}
${at("before")}${apart ? "" : at("module")}
const S = z.object({
  a: ${first},
  b: ${second},
});
const OPTIONS = { schema: S };
${at("after")}
export const handler = ${HANDLERS[handler]}(function answer({ context, body }: any) {
  ${at("handler")}
  return buildValidatedResponse(context, 200, { body });
});
`;
  // a name that nothing uses must not decide
  const unused = HANDLERS[handler].includes("OPTIONS")
    ? text
    : text.replace(/^const OPTIONS.*\n/m, "");
  return {
    files: {
      [`functions/api/case-${number}.post.ts`]: unused,
      ...apart && {
        [`constants_${number}.ts`]: `import * as z from "zod";\n${
          exported.join("\n")
        }\n${CHANGE}\n${inOther}\n`,
      },
    },
    isChanged: changed.length > 0,
  };
}
