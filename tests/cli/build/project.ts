import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../../../cli/commands/build.ts";
import type { CliResult } from "../fixtures/run.ts";
import { runInProcess } from "../fixtures/run.ts";
import { writeFiles } from "../../support/temp_folder.ts";

/** The checkout. */
export const CHECKOUT: string = fileURLToPath(new URL("../../../", import.meta.url));

/** A project in a temporary folder. */
export interface TestProject extends AsyncDisposable {
  readonly root: string;
  /** `trellis build` with these options. */
  build(...options: string[]): Promise<CliResult>;
  /** Calls a built function in a new process of Node. */
  call(name: string, options?: CallOptions): Promise<CallResult>;
  /** Calls a built function with each event in turn, in one Node. */
  callEach(
    name: string,
    events: readonly Record<string, unknown>[],
    options?: CallOptions,
  ): Promise<CallResult["answer"][]>;
  remove(): Promise<void>;
}

/** How a function is called. */
export interface CallOptions {
  readonly event?: Record<string, unknown>;
  readonly env?: Record<string, string>;
  readonly nodeArgs?: readonly string[];
  /** The folder of the bundles, if it is not `dist` of the project. */
  readonly folder?: string;
}

/** What a function answered. */
export interface CallResult {
  /** Its answer, or `{ thrown }`. */
  readonly answer: { statusCode?: number; body?: string; thrown?: string };
  /** What it logged. */
  readonly logged: string;
}

/**
 * Writes a project; a test removes it.
 *
 * @param files Texts by path.
 */
export async function writeTestProject(
  files: Readonly<Record<string, string>>,
): Promise<TestProject> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-build-" }));
  const remove = () => Deno.remove(root, { recursive: true });
  await writeFiles(root, files);
  return {
    root,
    build: (...options) =>
      runInProcess(["build", "--project", root, ...options], { commands: [build] }),
    call: async (name, options = {}) => {
      const file = join(options.folder ?? join(root, "dist"), name, "index.mjs");
      const { answers, logged } = await callInNode(file, [options.event ?? {}], options);
      return { answer: answers[0], logged };
    },
    callEach: async (name, events, options = {}) =>
      (await callInNode(join(root, "dist", name, "index.mjs"), events, options)).answers,
    remove,
    [Symbol.asyncDispose]: remove,
  };
}

/** deno.json of a project that takes `@trellis/fn` from the checkout, and its lock file. */
export async function denoProjectFiles(): Promise<Record<string, string>> {
  const own = JSON.parse(await Deno.readTextFile(join(CHECKOUT, "deno.json")));
  const entries = Object.entries<string>(own.exports).map(([entry, file]) => [
    `@trellis/fn${entry.slice(1)}`,
    join(CHECKOUT, file),
  ]);
  const packages = Object.entries<string>(own.imports).filter(([, target]) =>
    target.startsWith("npm:")
  );
  return {
    "deno.json": JSON.stringify({
      imports: { ...Object.fromEntries(entries), ...Object.fromEntries(packages) },
    }),
    "deno.lock": await Deno.readTextFile(join(CHECKOUT, "deno.lock")),
  };
}

/** An event of a REST API. */
export const REST_EVENT: Readonly<Record<string, unknown>> = {
  resource: "/",
  path: "/",
  httpMethod: "GET",
  headers: {},
  multiValueHeaders: {},
  queryStringParameters: null,
  multiValueQueryStringParameters: null,
  pathParameters: null,
  stageVariables: null,
  requestContext: { requestId: "request-1" },
  body: null,
  isBase64Encoded: false,
};

/** Standard output has log lines too: the answer goes to standard error. */
const PROGRAM = `
const [file, events] = process.argv.slice(1);
const { handler } = await import(file);
const context = { awsRequestId: "a", functionName: "f", getRemainingTimeInMillis: () => 5000 };
const answers = [];
for (const event of JSON.parse(events)) {
  answers.push(await handler(event, context).catch((error) => ({ thrown: error.stack })));
}
process.stderr.write("\\nANSWERS" + JSON.stringify(answers));
process.exit();
`;

async function callInNode(
  file: string,
  events: readonly Record<string, unknown>[],
  { env = {}, nodeArgs = [] }: CallOptions,
): Promise<{ answers: CallResult["answer"][]; logged: string }> {
  const { stdout, stderr } = await new Deno.Command("node", {
    args: [
      ...nodeArgs,
      "--input-type=module",
      "-e",
      PROGRAM,
      "--",
      new URL(`file://${file}`).href,
      JSON.stringify(events.map((event) => ({ ...REST_EVENT, ...event }))),
    ],
    env,
  }).output();
  const [logged, message] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  const [, answers] = message.split("ANSWERS");
  if (answers === undefined) throw new Error(`${file} gave no answer:\n${message}\n${logged}`);
  return { answers: JSON.parse(answers), logged };
}
