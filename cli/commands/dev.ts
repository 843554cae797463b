import { existsSync } from "node:fs";
import process from "node:process";
import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseChoice } from "../dev/local_database.ts";

const DATABASES: readonly string[] = [
  "embedded",
  "distsql",
  "env",
] satisfies readonly DatabaseChoice[];

/** `trellis dev`. */
export const dev: Command = {
  name: "dev",
  summary:
    "Runs all functions on this machine, with a database, and a page that shows what they do.",
  description: [
    "Requests become the events of a REST API, each function is called as Lambda calls it. What a source changes is served by\n" +
    "the next request; a fault in it is shown here and as the answer, and the rest goes on.",
    "The database is an embedded Postgres in .trellis/dev, migrated, and seeded when it is new (dev.seed). Variables come from\n" +
    "the shell, then .env, then from here: DATABASE_*, secrets that are generated once, AWS endpoints that lead to this program.",
    "The page at /_trellis shows functions, calls with their log lines and spans, tables, and what was sent. It starts queue,\n" +
    "topic, event, schedule, storage, websocket, authorizer and standalone functions; so does\n" +
    "POST /_trellis/api/functions/<Name>/invoke.",
    "It listens on 127.0.0.1 and answers to localhost only. Ctrl-C ends it in order.",
  ],
  options: [
    {
      name: "port",
      value: "number",
      description: "The port; dev.port of the configuration, else 8787. 0 takes a free one.",
    },
    {
      name: "db",
      value: "kind",
      description:
        "embedded, distsql (the strict stand-in for the distributed provider), or env (that of the environment, untouched).",
    },
    { name: "reset", description: "Delete the local data first." },
    {
      name: "logs",
      description: "Print the functions' log lines and metrics as they would write them.",
    },
  ],
  examples: [
    ["trellis dev", "serve on http://localhost:8787; the page is at /_trellis"],
    ["trellis dev --port 3000 --reset", "another port, an empty database"],
    ["trellis dev --db distsql", "refuse what the distributed provider refuses"],
    [
      `curl -d '{"noteId":"n1"}' localhost:8787/_trellis/api/functions/IndexNote/invoke`,
      "send a message to the queue's function IndexNote",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Ended by Ctrl-C or SIGTERM, everything was closed.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]:
      "It could not start: the port is in use, a migration or the seed failed, a folder is missing.",
  },
  run,
};

async function run({ root, options, output }: CommandContext): Promise<ExitCode> {
  const { db } = options;
  if (db !== undefined && !DATABASES.includes(String(db))) {
    throw new UsageError(`--db is ${JSON.stringify(db)}: it must be ${DATABASES.join(", ")}`);
  }
  const asked = readPort(options.port);
  const [{ readConfig }, { startDevServer }, { createTerminal }, { waitForStopSignal }] =
    await Promise.all([
      import("../analysis/read_config.ts"),
      import("../dev/dev_server.ts"),
      import("../dev/terminal.ts"),
      import("../dev/stop_signals.ts"),
    ]);
  if (!existsSync(root)) throw new ConfigurationError(`There is no folder ${root} (--project)`);
  const config = readConfig(root, options.config as string | undefined);
  // what functions read by a relative path is in the project
  process.chdir(root);
  const signals = waitForStopSignal();
  try {
    const server = await startDevServer({
      root,
      config,
      port: asked ?? config.dev.port,
      database: db as DatabaseChoice | undefined,
      reset: options.reset === true,
      onLogText: options.logs ? (text) => void process.stderr.write(text) : undefined,
      terminal: createTerminal(output, root),
    });
    const page = `${server.url}/_trellis`;
    const kinds = countByKind(server.functions.map(({ kind }) => kind));
    const secrets = server.secrets();
    output.line();
    output.line(`${output.bold(server.project)} runs at ${output.bold(server.url)}`);
    output.line(`  page       ${page}`);
    output.line(`  functions  ${server.functions.length}: ${kinds}`);
    output.line(`  database   ${server.database}`);
    if (secrets.length > 0) {
      output.line(`  generated  ${secrets.join(", ")} (.trellis/dev/secrets.json)`);
    }
    output.line("Ctrl-C ends it.");
    output.line();
    output.result({
      command: "dev",
      url: server.url,
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
    await signals.stopped;
    output.note("\nStopping …");
    await server.stop();
    return ExitCode.Done;
  } finally {
    signals.restore();
    await stopEsbuild();
  }
}

function readPort(given: string | boolean | undefined): number | undefined {
  if (given === undefined) return undefined;
  const port = Number(given);
  if (Number.isInteger(port) && port >= 0 && port < 65536 && given !== "") return port;
  throw new UsageError(`--port is ${JSON.stringify(given)}: it must be a port, 0 to 65535`);
}

function countByKind(kinds: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ") || "none";
}

/** Its service is a process of its own. */
async function stopEsbuild(): Promise<void> {
  const esbuild = await import("esbuild").catch(() => undefined);
  await esbuild?.stop();
}
