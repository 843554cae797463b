import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { readConfig } from "../../cli/config/read_config.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { entry, withFolder } from "./files.ts";
import { properties } from "./seeded.ts";
import { anyCharacter } from "../support/any_character.ts";

const { property } = properties("configuration files", 300);

const SETTINGS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  functionsDir: fc.constantFrom("src/functions", "functions"),
  permissions: fc.record({ dir: fc.constant("permissions") }, { requiredKeys: [] }),
  database: fc.record({ migrationsDir: fc.constant("migrations") }, { requiredKeys: [] }),
  infra: fc.constant({}),
  openapi: fc.constant({}),
  build: fc.constant({}),
  dev: fc.constant({}),
};
const known = fc.record(SETTINGS, { requiredKeys: [], noNullPrototype: true });

/** The text of a value, in a form that people write. */
function written(value: unknown, style: number): string {
  if (typeof value === "string" && style % 3 === 0) {
    return `\`${value.replaceAll(/[\\`$]/g, "\\$&")}\``;
  }
  if (typeof value === "string" && style % 3 === 1 && value.length > 2) {
    return `${JSON.stringify(value.slice(0, 2))} + ${JSON.stringify(value.slice(2))}`;
  }
  if (Array.isArray(value)) return `[${value.map((each) => written(each, style)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  return `{ ${
    Object.entries(value).map(([key, each]) =>
      `${style % 2 ? JSON.stringify(key) : `[${JSON.stringify(key)}]`}: ${written(each, style)}`
    )
      .join(", ")
  } }`;
}

const FRAMES: readonly ((text: string) => string)[] = [
  (text) => `export default ${text}`,
  (text) => `export default await Promise.resolve(${text})`,
  (text) =>
    `import { defineConfig } from "@trellis/fn/cli";\nexport default defineConfig(${text} as const satisfies unknown);`,
  (text) => `const config = Object.freeze(${text});\nexport default config;`,
  (text) => `const config = { ...${text} };\nexport { config as default };`,
  (text) => `const make = () => { const c = ${text}; return c; };\nexport default make();`,
];
const frame = fc.constantFrom(...FRAMES);

property(
  "readConfig() reads a value, however it is written or computed",
  fc.asyncProperty(known, fc.nat(5), frame, async (config, style, put) => {
    await withFolder(
      { "trellis.config.ts": { kind: "text", text: put(written(config, style)) } },
      async (folder) => {
        const resolved = await readConfig(folder) as unknown as Record<string, unknown>;
        for (const [key, value] of Object.entries(config)) {
          if (typeof value === "string") assertEquals(resolved[key], value);
          else {for (const [name, inner] of Object.entries(value as object)) {
              assertEquals((resolved[key] as Record<string, unknown>)[name], inner);
            }}
        }
      },
    );
  }),
);

/** Literals, operators and pieces of programs, sound and not. */
const piece = fc.constantFrom(
  ..."{ } [ ] ( ) , : ; . ... => + - ! ** / ? ?. ?? || && = == < > ` ${ ' \" // /* */ # @ \\ \n"
    .split(" "),
  ...[
    "functionsDir",
    "permissions",
    "database",
    "toString",
    "__proto__",
    "constructor",
    "a",
    "b",
    "undefined",
    "null",
  ],
  ...["0x10", "1_000", "10n", "1e999", "NaN", "'src'", '"\\u{110000}"', "`a${b}c`", "/a/", "true"],
  ...[
    "const",
    "let",
    "function",
    "class",
    "enum",
    "import",
    "export",
    "default",
    "return",
    "new",
    "await",
    "as",
    "satisfies",
  ],
  ...[
    "const a = { b };",
    "const b = { a };",
    "const b = [a, a];",
    "const a = b;",
    "import b from './b.ts';",
  ],
  ...[
    "export default",
    "export default a;",
    "export default defineConfig({})",
    "export * from './trellis.config.ts'",
  ],
  ...[
    "import a from './none.ts';",
    "export { default } from './trellis.config.ts';",
    "module.exports = {}",
    "export = {}",
  ],
  "throw new Error('x');",
  "throw undefined;",
  "(() => { throw null; })()",
  "{ get a() { throw new TypeError('x'); } }",
  "{ toString: 1 }",
  "{ toString() { return 'a'; } }",
  "require('./b.ts')",
  "await import('./b.ts')",
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }).map((json) => written(json, 2)),
  fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(" ")),
  fc.constantFrom(
    "a",
    "{ toString: 1 }",
    "`x${{ toString: 1 }}`",
    "'a' + { toString: 'b' }",
    "[...'ab']",
    "-'1'",
    "1 / 0",
  ),
);
const program = fc.oneof(
  fc.tuple(
    frame,
    fc.array(
      fc.tuple(fc.constantFrom(...Object.keys(SETTINGS), "no", "__proto__", "toString"), value),
      {
        maxLength: 3,
      },
    ),
  )
    .map(([put, settings]) => put(`{ ${settings.map((pair) => pair.join(": ")).join(", ")} }`)),
  fc.tuple(frame, value).map(([put, text]) => put(text)),
  fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(" ")),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    "(".repeat(5000),
    "[".repeat(5000),
    `export default ${"-".repeat(5000)}1`,
    `export default ${"{a:".repeat(3000)}`,
  ),
);

property(
  "readConfig() gives a checked configuration or one error that names the file",
  fc.asyncProperty(
    entry(program),
    fc.constantFrom("trellis.config.ts", "trellis.config.mjs"),
    async (file, name) => {
      await withFolder({
        [name]: file,
        "b.ts": { kind: "text", text: "export default { b: 1 };" },
      }, async (folder) => {
        try {
          const { functionsDir, permissions } = await readConfig(folder);
          assertEquals([typeof functionsDir, typeof permissions.dir], ["string", "string"]);
        } catch (error) {
          assert(error instanceof ConfigurationError, `${error}`);
          assert(/trellis\.config|b\.ts/.test(error.message), error.message);
        }
        assertEquals(Object.keys(Object.prototype), []);
      });
    },
  ),
);
