import { assert, assertEquals } from "@std/assert";
import { toZodSchema } from "better-auth/db";
import { denoProjectFiles, writeTestProject } from "./project.ts";

const TYPES = ["string", "number", "boolean", "date", "json", "string[]", "number[]", ["a", "b"]];
const VALUES = ["a", "", 1, Number.NaN, true, null, undefined, new Date(0), ["a"], [1], { a: 1 }];

/** Checks every value with the schema of every type, required or not. */
function checkAll(create: typeof toZodSchema): unknown[] {
  return TYPES.flatMap((type) =>
    [true, false].flatMap((required) => {
      const fields = { field: { type, required } } as Parameters<typeof toZodSchema>[0]["fields"];
      const schema = create({ fields, isClientSide: true });
      return VALUES.map((field) => schema.safeParse({ field }));
    })
  ).map(({ success, data, error }) => ({ success, data, issues: error?.issues }));
}

Deno.test("trellis build leaves zod's other languages out of functions with better-auth", async () => {
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/functions/api/fields.get.ts": `import { toZodSchema } from "better-auth/db";
const TYPES = ${JSON.stringify(TYPES)};
const VALUES = ["a", "", 1, Number.NaN, true, null, undefined, new Date(0), ["a"], [1], { a: 1 }];
${checkAll.toString()}
export const handler = async () => ({ statusCode: 200, body: JSON.stringify(checkAll(toZodSchema)) });
`,
  });
  try {
    const { exitCode, stdout, stderr } = await project.build();
    assertEquals([exitCode, stderr.includes("all languages")], [0, false], stdout + stderr);
    const { answer } = await project.call("Fields");
    const expected = JSON.parse(JSON.stringify(checkAll(toZodSchema)));
    assertEquals(JSON.parse(answer.body!), expected);
    assert(expected.some(({ success }: { success: boolean }) => !success));
  } finally {
    await project.remove();
  }
});
