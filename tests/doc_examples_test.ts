/**
 * Runs the examples of all pages and doc comments in one isolate, because `deno test --doc` loads
 * the library again for each. `deno task check` checks their types.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { resetSessionAuth } from "../auth/mod.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import "./support/embedded_pool.ts";
import { listDocExamples, parseExamples, toModule } from "./support/doc_examples.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const { exports }: { exports: Record<string, string> } = JSON.parse(
  Deno.readTextFileSync(join(ROOT, "deno.json")),
);
const PATHS = [
  ...new Set(["README.md", "docs", ...Object.values(exports).map((path) => path.split("/")[1])]),
];
const examples = listDocExamples(ROOT, PATHS);
const folder = await Deno.makeTempDir({ prefix: "trellis-examples-" });

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

for (const [at, example] of examples.entries()) {
  Deno.test(`the example at ${example.file}:${example.line} runs`, async () => {
    const path = join(folder, `${at}.ts`);
    await Deno.writeTextFile(path, toModule(example, pathToFileURL(ROOT).href));
    // each example is a program of its own
    resetSessionAuth();
    const { run } = await import(pathToFileURL(path).href);
    // Deno starts a test in the asynchronous context of the code that ran last
    await runOutsideInvocation(run);
  });
}

Deno.test("the examples are those of pages, doc comments and each entry point's folder", () => {
  assert(examples.length > 200, String(examples.length));
  for (const path of ["README.md", "docs/guides/handlers.md", "mod.ts", "validation/mod.ts"]) {
    assert(examples.some(({ file }) => file === path), path);
  }
});

Deno.test("parseExamples() returns the blocks of a page that are not marked ignore", () => {
  const page = "# T\n\n```ts\nlet a;\n\n```\n```sh\nls\n```\n```ts ignore\nx\n```\n```js\nb\n```";
  assertEquals(parseExamples(page, "a.md"), [
    { file: "a.md", line: 3, code: "let a;\n" },
    { file: "a.md", line: 13, code: "b" },
  ]);
});

Deno.test("parseExamples() returns the blocks of a source's doc comments, and no other text", () => {
  const source = [
    "const text = `",
    "```ts",
    "no;",
    "```",
    "`;",
    "  /**",
    "   * Adds.",
    "   * ```ts",
    "   * if (a) {",
    "   *   b * c;",
    "   *",
    "   * }",
    "   * ```",
    "   */",
    "/** One line. */",
  ].join("\n");
  assertEquals(parseExamples(source, "a.ts"), [
    { file: "a.ts", line: 8, code: "if (a) {\n  b * c;\n\n}" },
  ]);
});

Deno.test("toModule() puts what follows the imports into a function", () => {
  const code = 'import {\n  a,\n} from "./b.ts";\n\nexport const c = await a();';
  assertEquals(
    toModule({ file: "core/b.ts", line: 1, code }, "file:///r/"),
    'import {\n  a,\n} from "file:///r/core/b.ts";\n' +
      "export async function run(): Promise<void> {\n\nconst c = await a();\n}\n",
  );
});
