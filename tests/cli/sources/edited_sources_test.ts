import { assertEquals, assertStringIncludes } from "@std/assert";
import * as esbuild from "esbuild";
import { join } from "node:path";
import {
  createSourceReader,
  editedSourcesPlugin,
  type SourceEditor,
} from "../../../cli/sources/edited_sources.ts";
import { applyEdits, type Edit } from "../../../cli/sources/syntax.ts";

const SERVED = { sanitizeOps: false, sanitizeResources: false };

const SOURCE = `import { defineQuery } from "x";
enum Color { Red = "a" }
interface Unused { readonly name: string }
export const listNotes = defineQuery({})(async function listNotes(db: unknown) {
  return [typeof listNotes, db, Color.Red, name2];
});
const name2 = "kept";
export const nested = () => {
  const listNotes = () => 1;
  function Color() { return [listNotes.name, Color.name]; }
  return Color();
};
`;

/** Marks each string, so that a module is changed. */
const editor: SourceEditor = {
  wants: () => true,
  edit: ({ code }) => ({
    edits: [...code.matchAll(/"a"/g)].map(({ index }): Edit => ({
      start: index,
      end: index + 3,
      text: '"changed"',
    })),
    appended: "\nexport const appended = 1;",
  }),
};

Deno.test(
  "an edited module keeps the names of its functions, and the lines of the source",
  SERVED,
  async () => {
    const root = await Deno.makeTempDir({ prefix: "trellis-sources-" });
    try {
      await Deno.writeTextFile(join(root, "notes.ts"), SOURCE);
      const reader = createSourceReader(esbuild, root);
      const { code, findPosition } = await reader.read(join(root, "notes.ts"));
      assertStringIncludes(code, "async function listNotes(db)");
      assertEquals(/listNotes\d|Color\d/.test(code), false, code);
      assertEquals(findPosition(code.indexOf('"kept"')), {
        file: "notes.ts",
        line: 7,
        column: 15,
      });

      const { outputFiles } = await esbuild.build({
        entryPoints: [join(root, "notes.ts")],
        absWorkingDir: root,
        outfile: join(root, "out.mjs"),
        bundle: true,
        write: false,
        format: "esm",
        keepNames: true,
        external: ["x"],
        plugins: [editedSourcesPlugin(reader, [editor])],
      });
      const text = outputFiles[0].text.replace(
        /import .* from "x";/,
        "const defineQuery = () => (fn) => fn;",
      );
      const built = await import(`data:text/javascript,${encodeURIComponent(text)}`);
      assertEquals(built.listNotes.name, "listNotes");
      assertEquals(await built.listNotes(1), ["function", 1, "changed", "kept"]);
      assertEquals(built.nested(), ["listNotes", "Color"]);
      assertEquals(built.appended, 1);
    } finally {
      await Deno.remove(root, { recursive: true });
      await esbuild.stop();
    }
  },
);

Deno.test("applyEdits() nests insertions, omits what is in a replacement, and keeps the lines", () => {
  const code = "a(\nb(1),\nc)";
  assertEquals(
    applyEdits(code, [
      { start: 0, end: 0, text: "x(" },
      { start: 0, end: 0, text: "y(" },
      { start: 3, end: 7, text: "d" },
      { start: 5, end: 6, text: "never" },
      { start: 11, end: 11, text: ")y" },
      { start: 11, end: 11, text: ")x" },
    ]),
    "x(y(a(\nd,\nc))y)x",
  );
  assertEquals(applyEdits(code, [{ start: 0, end: 11, text: "z" }]), "z\n\n");
});
