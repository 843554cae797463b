import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { findConfigFile } from "../cli/discovery/config_file.ts";
import {
  hashSources,
  parseRecords,
  type RecordLine,
  RECORDS_FOLDER,
} from "../cli/discovery/query_records.ts";
import { type QueryRecorder, setQueryRecorder } from "../database/session/query_recorder.ts";

/** Number of states of the sources whose records are kept. */
const MAX_STATES = 20;
/** A query with more texts writes other SQL in each call. */
const MAX_TEXTS = 100;
/** Statements of a transaction, which do not depend on a schema. */
const CONTROL = /^\s*(?:begin|commit|rollback|savepoint|release|set)\b/i;

let isStarted = false;

/**
 * Records the statements that the declared queries of the project send to test databases, for
 * `trellis build`. Values are not recorded. Does nothing outside of a project with a
 * `trellis.config.ts`.
 */
export function startRecording(): void {
  if (isStarted) return;
  isStarted = true;
  ignoreFailure(() => {
    const root = findRoot(resolve("."));
    if (root !== undefined) setQueryRecorder(createRecorder(root));
  });
}

/** Ends the recording if files cannot be read or written: a test does not fail for it, and the build lists its queries as unchecked. */
function ignoreFailure(work: () => void): void {
  try {
    work();
  } catch {
    setQueryRecorder(undefined);
  }
}

function findRoot(folder: string): string | undefined {
  if (findConfigFile(folder) !== undefined) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : findRoot(parent);
}

/** Creates the recorder of a project. Processes append lines to one file, and lose none. */
function createRecorder(root: string): QueryRecorder {
  const running = new AsyncLocalStorage<string>();
  const sources = new Map<string, string>();
  const texts = new Map<string, Set<string>>();
  let file: string | undefined;

  function write(query: string, sql: string | null): void {
    const known = texts.get(query) ?? new Set();
    const shape = sql === null ? "null" : toShape(sql);
    if (known.has(shape) || known.has("null")) return;
    if (known.size >= MAX_TEXTS && sql !== null) return write(query, null);
    texts.set(query, known.add(shape));
    appendLine(file!, { query, sql });
  }

  function open(): void {
    if (file !== undefined) return;
    const files = hashSources(root);
    const state = createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16);
    file = join(root, RECORDS_FOLDER, `${state}.jsonl`);
    if (!existsSync(file)) {
      prepareFolder(root);
      appendLine(file, { files });
      return;
    }
    for (const line of parseRecords(readFileSync(file, "utf8"))) {
      if ("files" in line) continue;
      const shape = line.sql === null ? "null" : toShape(line.sql);
      texts.set(line.query, (texts.get(line.query) ?? new Set()).add(shape));
    }
  }

  return {
    run(name, fn, work) {
      const source = String(fn);
      ignoreFailure(() => {
        open();
        if ((sources.get(name) ?? source) !== source) write(name, null);
      });
      sources.set(name, source);
      return running.run(name, work);
    },
    add(sql): void {
      const query = running.getStore();
      if (query === undefined || CONTROL.test(sql)) return;
      ignoreFailure(() => write(query, sql));
    },
  };
}

/** Returns a statement with one value for each list of values, so that the length of a list makes no difference. */
function toShape(sql: string): string {
  return sql.replace(/\$\d+/g, "$$")
    .replace(/\(\$(?:, ?\$)+\)/g, "($)")
    .replace(/(\((?:\$|default|, ?)+\))(?:, ?\((?:\$|default|, ?)+\))+/gi, "$1");
}

function appendLine(file: string, line: RecordLine): void {
  // one write at the end of the file is not mixed with those of other processes
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Creates the folder, and removes the records of old states. */
function prepareFolder(root: string): void {
  const folder = join(root, RECORDS_FOLDER);
  mkdirSync(folder, { recursive: true });
  const ignore = join(dirname(folder), ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  const files = readdirSync(folder).map((name) => join(folder, name));
  const changedMs = (path: string): number =>
    statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const old = files.map((path) => ({ path, ms: changedMs(path) })).sort((a, b) => b.ms - a.ms)
    .slice(MAX_STATES - 1);
  for (const { path } of old) rmSync(path, { force: true });
}
