import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "../../cli/terminal/command.ts";
import { runCli } from "../../cli/run_cli.ts";
import { writeLargeOpenapiProject } from "../../tests/cli/fixtures/large_openapi_project.ts";
import { writeLargeProject } from "../../tests/cli/fixtures/large_project.ts";
import type { Series, Subject, Workload } from "./subject.ts";

type WriteProject = (root: string, functions: number) => Promise<unknown>;

const withQueries: WriteProject = (root, functions) =>
  writeLargeProject(root, {
    functions,
    queries: functions,
    tables: Math.max(2, Math.ceil(functions / 10)),
  });

/** Names in the cloud begin with the project's. */
async function withName(root: string, functions: number): Promise<void> {
  await withQueries(root, functions);
  const path = join(root, "package.json");
  writeFileSync(path, JSON.stringify({ name: "scale", ...JSON.parse(readFileSync(path, "utf8")) }));
}

/** A generator, what it writes into a project, and a project of some number of functions. */
const GENERATORS: readonly {
  command: string;
  load: () => Promise<Command>;
  write: WriteProject;
}[] = [
  {
    command: "generate permissions",
    load: async () =>
      (await import("../../cli/commands/generate_permissions.ts")).generatePermissions,
    write: withQueries,
  },
  {
    command: "generate infra",
    load: async () => (await import("../../cli/commands/generate_infra.ts")).generateInfra,
    write: withName,
  },
  {
    command: "generate openapi",
    load: async () => (await import("../../cli/commands/generate_openapi.ts")).generateOpenapi,
    write: writeLargeOpenapiProject,
  },
];

function toSeries({ command, load, write }: typeof GENERATORS[number]): Series {
  return {
    name: command,
    async prepare(size): Promise<Workload> {
      const root = mkdtempSync(join(tmpdir(), "trellis-scale-"));
      mkdirSync(join(root, "permissions"));
      await write(root, size);
      const commands = [await load()];
      let text = "";
      const stream = { write: (part: string) => void (text += part), isTTY: false };
      return {
        async run(): Promise<void> {
          text = "";
          const exitCode = await runCli([...command.split(" "), "--project", root], {
            commands,
            env: {},
            stdout: stream,
            stderr: stream,
          });
          if (exitCode !== 0) {
            throw new Error(`trellis ${command} ended with ${exitCode}: ${text.slice(0, 2000)}`);
          }
        },
        close: () => rmSync(root, { recursive: true }),
      };
    },
  };
}

/** Generators against the number of functions in the project. */
export const generators: Subject = {
  id: "scale_generators",
  title: "Generators against the functions of the project",
  unit: "functions",
  sizes: [10, 50, 200, 500, 1000, 2000],
  series: GENERATORS.map(toSeries),
};
