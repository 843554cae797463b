import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Command, type CommandContext, ExitCode, UsageError } from "../terminal/command.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { type Inputs, isChanged, stampFolders } from "../sources/file_stamps.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import type { DatabaseChoice } from "../dev/local_database.ts";
import { readStage, STAGE_OPTION } from "../stages/stage_name.ts";
import { waitForStopSignal } from "../terminal/stop_signals.ts";
import { createTerminal } from "../dev/terminal.ts";
import { groupBy } from "../../core/lists/group_by.ts";
import { readProject, readProjectConfig } from "../config/read_project.ts";

/** The command `trellis dev`. */
export const dev: Command = {
  name: "dev",
  packages: ["acorn", "esbuild"],
  summary: "Runs all functions locally with a database and an inspector page.",
  description: [
    "Requests become events of a REST API, and each function is called like in Lambda. A changed\n" +
    "source is reloaded for the next request. Build errors are printed here and returned as the\n" +
    "response; other functions keep running.",
    "The database is an embedded Postgres in .trellis/dev, which is migrated, and seeded when it is\n" +
    "new (dev.seed). Variables come from the shell, then .env, then the defaults of this command:\n" +
    "DATABASE_*, secrets that are generated once, and AWS endpoints that point to this server.",
    "A new migration is applied as soon as it is saved, unless it was generated, loses data or fails on\n" +
    "present rows: it then waits until you type m and press Enter, or confirm it on the page. After a\n" +
    "change of an applied file that was not pushed, the database is built again in the same way.",
    "The page at /_trellis shows functions, calls with log lines and spans, tables, jobs, mails and\n" +
    "sent messages. The relay of jobs is called each minute, and when a job is due.\n" +
    "It invokes queue, topic, event, schedule, storage, websocket, authorizer and standalone\n" +
    "functions; so does POST /_trellis/api/functions/<Name>/invoke.",
    "With --stage, the calls of a deployed dev or preview stage run here: requests, messages and schedules\n" +
    "of the stage, with the variables and the role of each function. The functions are restored in the\n" +
    "end. If this process is killed, their deployed code answers again.",
    "With --mock, no function and no database is used: each operation of the OpenAPI document answers with its\n" +
    "status of success, and with the example of its schema, else a value made of the schema. Requests are\n" +
    "validated, and credentials are not checked. The header Prefer: code=404 asks for another documented\n" +
    "status, and example=2 for the second example of the schema. It needs the package openapi-sampler.",
    "The server listens on 127.0.0.1 and only accepts requests to localhost. Ctrl-C stops it.",
  ],
  options: [
    {
      ...STAGE_OPTION,
      description: "Run the calls of a deployed stage here: dev, or preview-42.",
    },
    {
      name: "port",
      value: "number",
      description: "The port; 0 picks a free one. Default: dev.port, else 8787.",
    },
    {
      name: "db",
      value: "kind",
      values: ["embedded", "distsql", "env"] satisfies DatabaseChoice[],
      description:
        "embedded, distsql (a local Aurora DSQL server), or env (of the environment, without " +
        "migrations).",
    },
    { name: "reset", description: "Delete the local data first." },
    { name: "mock", description: "Answer with examples from the OpenAPI document." },
    {
      name: "logs",
      description: "Print raw log lines and metrics.",
    },
  ],
  examples: [
    ["trellis dev", "serve on http://localhost:8787; the page is at /_trellis"],
    ["trellis dev --port 3000 --reset", "another port, an empty database"],
    ["trellis dev --mock", "answer with examples, without functions and a database"],
    ["trellis dev --stage dev", "answer the requests of the deployed stage dev here"],
    ["trellis dev --db distsql", "reject SQL that Aurora DSQL does not support"],
    [
      `curl -d '{"noteId":"n1"}' localhost:8787/_trellis/api/functions/IndexNote/invoke`,
      "send a message to the queue function IndexNote",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Stopped by Ctrl-C or SIGTERM.",
    [ExitCode.Failed]: "It could not start: the port is in use, a migration " +
      "or the seed failed, a folder is missing. With --stage: a deployment or another session has taken\n" +
      "the stage over, or functions were not restored.",
  },
  run,
};

async function run(context: CommandContext): Promise<ExitCode> {
  const { root, options, output } = context;
  if (options.stage !== undefined) return await runStage(context);
  if (options.mock) return await runMock(context);
  const port = readPort(options.port);
  const [{ startDevServer }, { checkAuthTables }] = await Promise.all([
    import("../dev/dev_server.ts"),
    import("../auth_schema/check_tables.ts"),
  ]);
  if (!existsSync(root)) {
    throw new ConfigurationError(`The folder ${root} does not exist (--project)`);
  }
  const config = await readProjectConfig(context);
  const unchecked = await checkAuthTables(root, config);
  if (unchecked !== undefined) output.warn(unchecked);
  // relative paths in functions are based on the project folder
  process.chdir(root);
  const signals = waitForStopSignal();
  try {
    const server = await startDevServer({
      root,
      config,
      port: port ?? config.dev.port,
      database: options.db as DatabaseChoice | undefined,
      reset: options.reset === true,
      onLogText: options.logs ? (text) => void process.stderr.write(text) : undefined,
      terminal: createTerminal(output, root),
    });
    // the name in the addresses of the project's settings, so that their links and cookies fit
    const url = `http://localhost:${server.port}`;
    const page = `${url}/_trellis`;
    const kinds = countByKind(server.functions.map(({ kind }) => kind));
    const secrets = server.secrets();
    output.line();
    output.line(`${output.bold(server.project)} runs at ${output.bold(url)}`);
    output.line(`  page       ${page}`);
    output.line(`  functions  ${server.functions.length}: ${kinds}`);
    if (server.sockets !== undefined) output.line(`  sockets    ${server.sockets}`);
    output.line(`  database   ${server.database}`);
    if (secrets.length > 0) {
      output.line(`  generated  ${secrets.join(", ")} (.trellis/dev/secrets.json)`);
    }
    output.line("Press Ctrl-C to stop.");
    output.line();
    output.result({
      command: "dev",
      url,
      page,
      port: server.port,
      project: server.project,
      database: server.database,
      functions: server.functions.map(({ name, kind, method, path }) => ({
        name,
        kind,
        method,
        path,
      })),
    });
    const stopListening = context.canAsk
      ? onLine(process.stdin, "m", () => void server.confirmMigrations())
      : () => {};
    await signals.stopped;
    stopListening();
    output.note("\nStopping …");
    await server.stop();
    return ExitCode.Done;
  } finally {
    signals.restore();
    await stopEsbuild();
  }
}

/** Runs the calls of a deployed stage. */
async function runStage(context: CommandContext): Promise<ExitCode> {
  const { root, options } = context;
  const stage = readStage(options);
  refuseBeside(options, "stage", ["port", "db", "reset", "mock"], "belongs to the local server");
  // relative paths in functions are based on the project folder
  process.chdir(root);
  const { runOnStage } = await import("../dev/stage/dev_stage.ts");
  try {
    return await runOnStage(context, stage);
  } finally {
    await stopEsbuild();
  }
}

/** Serves the project's OpenAPI document with example values. */
async function runMock(context: CommandContext): Promise<ExitCode> {
  const { root, options, output } = context;
  refuseBeside(options, "mock", ["db", "reset"], "belongs to the local database");
  const port = readPort(options.port);
  const [{ buildProjectDocument }, { startMockServer }] = await Promise.all([
    import("../openapi/project_document.ts"),
    import("../dev/mock_server.ts"),
  ]);
  const config = await readProjectConfig(context);
  let stamps: Inputs = new Map();
  async function readDocument(): Promise<OpenApiDocument> {
    stamps = stampFolders(resolve(root, config.functionsDir));
    const { functions } = await readProject(context);
    const { document, findings } = await buildProjectDocument(root, functions, config, stamps)
      .finally(stopEsbuild);
    if (findings.length === 0) return document;
    const [{ file, line, message }] = findings;
    throw new ConfigurationError(
      `The OpenAPI document is incomplete: ${file}:${line}: ${message}. ` +
        "trellis generate openapi lists all errors",
    );
  }
  const document = await output.step("Reading functions", readDocument);
  const signals = waitForStopSignal();
  try {
    const server = await startMockServer({
      document,
      reload: async () => isChanged(stamps) ? await readDocument() : undefined,
      port: port ?? config.dev.port,
      onLogText: options.logs ? (text) => void process.stderr.write(text) : undefined,
      terminal: createTerminal(output, root),
    });
    const url = `http://localhost:${server.port}`;
    output.line();
    output.line(`The mock of ${output.bold(document.info.title)} runs at ${output.bold(url)}`);
    output.line(`  operations  ${server.operations}`);
    output.line("Press Ctrl-C to stop.");
    output.line();
    output.result({ command: "dev", url, port: server.port, operations: server.operations });
    await signals.stopped;
    await server.stop();
    return ExitCode.Done;
  } finally {
    signals.restore();
  }
}

/** Refuses options that have no meaning beside another one. */
function refuseBeside(
  options: CommandContext["options"],
  chosen: string,
  others: readonly string[],
  reason: string,
): void {
  const given = others.find((name) => options[name] !== undefined);
  if (given !== undefined) throw new UsageError(`--${given} ${reason}: it excludes --${chosen}`);
}

/**
 * Calls a function each time a line is entered on the terminal.
 *
 * @param line The line without spaces around it.
 * @returns Stops listening, so that the process can end.
 */
export function onLine(
  input: NodeJS.ReadableStream,
  line: string,
  listener: () => void,
): () => void {
  const lines = createInterface({ input });
  lines.on("line", (text) => {
    if (text.trim() === line) listener();
  });
  return () => lines.close();
}

function readPort(given: string | boolean | undefined): number | undefined {
  if (given === undefined) return undefined;
  const port = Number(given);
  if (Number.isInteger(port) && port >= 0 && port < 65536 && given !== "") return port;
  throw new UsageError(`--port must be a port from 0 to 65535, got ${JSON.stringify(given)}`);
}

function countByKind(kinds: readonly string[]): string {
  const groups = groupBy(kinds, (kind) => kind);
  return [...groups].map(([kind, all]) => `${all.length} ${kind}`).join(", ") || "none";
}

/** Stops the child process of esbuild. */
async function stopEsbuild(): Promise<void> {
  const esbuild = await import("esbuild").catch(() => undefined);
  await esbuild?.stop();
}
