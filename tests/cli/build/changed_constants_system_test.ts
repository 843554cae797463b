import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { testSeed } from "../../support/seed.ts";
import { BODIES, generateModules } from "./changed_constants.ts";
import { denoProjectFiles, REST_EVENT, writeTestProject } from "./project.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
/** Of the short form, each eighth module: they are ordered by what changes. */
const [COUNT, STEP] = isFull ? [3_000, 1] : [520, 8];

/** Calls each function with each body in turn: prints a line for each function. */
const PROGRAM = `
const context = { awsRequestId: "a", functionName: "f", getRemainingTimeInMillis: () => 5000 };
const { files, events } = JSON.parse(process.argv.at(-1));
const answers = [];
for (const file of files) {
  try {
    const { handler } = await import(file);
    const each = [];
    for (const event of events) {
      const { statusCode, body } = await handler(event, context);
      each.push([statusCode, body]);
    }
    answers.push(each);
  } catch (error) {
    // the texts of engines differ
    answers.push([error.name]);
  }
}
process.stdout.write("\\nANSWERS" + JSON.stringify(answers), () => process.exit());
`;

async function answerAll(
  [command, ...args]: readonly string[],
  files: readonly string[],
): Promise<unknown[]> {
  const events = BODIES.map((body) => ({
    ...REST_EVENT,
    httpMethod: "POST",
    body: JSON.stringify(body),
  }));
  const urls = files.map((file) => new URL(`file://${file}`).href);
  const { stdout, stderr } = await new Deno.Command(command, {
    args: [...args, JSON.stringify({ files: urls, events })],
    env: { LOG_LEVEL: "SILENT" },
  }).output();
  const [, answers] = new TextDecoder().decode(stdout).split("ANSWERS");
  if (answers === undefined) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(answers);
}

Deno.test("trellis build with precompile changes no answer, whatever changes constants and schemas", async () => {
  const modules = generateModules(testSeed, COUNT)
    .map((module, number) => ({ ...module, number }))
    .filter(({ number }) => number % STEP === 0);
  await using project = await writeTestProject({
    ...await denoProjectFiles(),
    "trellis.config.ts": "export default { build: { precompile: true, sourceMaps: 'none' } };\n",
    ...Object.fromEntries(
      modules.flatMap(({ files }) =>
        Object.entries(files).map(([path, text]) => [`src/${path}`, text])
      ),
    ),
  });
  const { exitCode, stdout, stderr } = await project.build("--json");
  assertEquals(exitCode, 0, stdout + stderr);
  const built: { name: string; compiledSchemas?: string[] }[] = JSON.parse(stdout).functions;
  const isCompiled = new Map(
    built.map((each) => [each.name, each.compiledSchemas !== undefined]),
  );
  const name = ({ number }: { readonly number: number }) => `Case${number}`;
  const program = join(project.root, "call_each.mjs");
  await Deno.writeTextFile(program, PROGRAM);
  const compiled = await answerAll(
    ["node", program],
    modules.map((module) => join(project.root, "dist", name(module), "index.mjs")),
  );
  const sources = await answerAll(
    ["deno", "run", "-A", "--no-check", "--config", join(project.root, "deno.json"), program],
    modules.map(({ number }) => join(project.root, `src/functions/api/case-${number}.post.ts`)),
  );
  const different = modules.flatMap(({ files }, at) =>
    JSON.stringify(compiled[at]) === JSON.stringify(sources[at]) ? [] : [
      `${JSON.stringify(compiled[at])}\n${JSON.stringify(sources[at])}\n${
        Object.values(files).join("\n")
      }`,
    ]
  );
  const rate = (changed: boolean) => {
    const all = modules.filter(({ isChanged }) => isChanged === changed).map(name);
    return [all.filter((each) => isCompiled.get(each)).length, all.length];
  };
  const [kept, unchanged] = rate(false);
  const [despite, changed] = rate(true);
  const summary = `${different.length} of ${modules.length} differ; compiled: ${kept} of ` +
    `${unchanged} without a change, ${despite} of ${changed} with one, TRELLIS_SEED=${testSeed}`;
  assertEquals(different.slice(0, 3), [], summary);
  // the property would hold as well if nothing were compiled, or if nothing worked
  assert(kept > unchanged / 10, summary);
  const statuses = new Set(sources.flat().map((each) => (each as unknown[])[0]));
  assert(statuses.has(200) && statuses.has(400), JSON.stringify([...statuses]));
});
