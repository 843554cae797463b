import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { MARKER, planClientTypes } from "../client/client_types.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { applyGeneratedFiles } from "../files/generated_files.ts";
import { buildProjectDocument } from "../openapi/project_document.ts";

/** Keeps the generated types of a client up to date. */
export interface ClientWatch {
  /** Generates the types in the background; calls during a run cause one more run. */
  update(): void;
  /** Resolves when nothing is running. */
  settled(): Promise<void>;
}

/** Options of {@link createClientWatch}. */
export interface ClientWatchOptions {
  /** Absolute path of the project. */
  readonly root: string;
  readonly config: ResolvedConfig;
  /** Returns the current functions. */
  readonly list: () => readonly FunctionFile[];
  /** Called with the path of a file that was written. */
  readonly onWritten: (path: string) => void;
  /** Called with the reason why the file was not updated, once for the same reason. */
  readonly onFailed: (reason: string) => void;
}

/**
 * Creates a watch that updates the file of `trellis generate client`. A project without the
 * generated file is left alone.
 */
export function createClientWatch(options: ClientWatchOptions): ClientWatch {
  const { root, config: { client: { file } }, onFailed } = options;
  let running: Promise<void> | undefined;
  let isStale = false;
  let failure: string | undefined;

  async function run(): Promise<void> {
    while (isStale) {
      isStale = false;
      const reason = await generate(options).catch((error: Error) => error.message);
      if (reason !== undefined && reason !== failure) onFailed(`${file} is stale: ${reason}`);
      failure = reason;
    }
    running = undefined;
  }

  return {
    update(): void {
      if (!isGenerated(resolve(root, file))) return;
      isStale = true;
      running ??= run();
    },
    settled: () => running ?? Promise.resolve(),
  };
}

/** Writes the file if it differs. Returns why it cannot be written. */
async function generate(options: ClientWatchOptions): Promise<string | undefined> {
  const { root, config, list, onWritten } = options;
  const { document, findings: [finding] } = await buildProjectDocument(root, list(), config);
  if (finding !== undefined) return `${finding.file}:${finding.line}: ${finding.message}`;
  const changes = planClientTypes(root, config.client.file, document);
  applyGeneratedFiles(root, changes);
  for (const { path, change } of changes) if (change === "updated") onWritten(path);
  return undefined;
}

function isGenerated(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8").slice(0, 200).includes(MARKER);
}
