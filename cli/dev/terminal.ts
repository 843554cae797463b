import { relative } from "node:path";
import process from "node:process";
import { isInsideFolder } from "../files/inside_folder.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { summarizeList } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";
import { type BuildError, renderSourceError } from "../sources/build_error.ts";
import { describeLogError } from "../../testing/describe_log_error.ts";
import type { Call, DevEvent, LogLine } from "./functions/recorder.ts";

/** The terminal output of `trellis dev`. */
export interface Terminal {
  /** Runs a step, and shows its label if it takes long. */
  readonly step: Output["step"];
  /** Prints a message. */
  note(text: string): void;
  warn(text: string): void;
  /** Prints one line for each finished call, with its warnings and errors. */
  show(event: DevEvent): void;
  /** Reports that a function was reloaded. */
  reloaded(fn: FunctionFile): void;
  /** Reports that a function cannot be built or loaded. */
  failed(fn: FunctionFile, error: BuildError): void;
  /** Prints pending messages immediately. */
  flush(): void;
}

const MAX_TITLE = 100;
/** Collects reloads and build errors for this time: one change may concern many functions. */
const BATCH_MS = 100;
const MAX_NAMES = 4;

/**
 * Creates the terminal output of `trellis dev`.
 *
 * @param output The command's output.
 */
export function createTerminal(output: Output, root: string = process.cwd()): Terminal {
  const shown = new WeakSet<Call>();
  let reloads = new Set<string>();
  let failures = new Map<string, { names: Set<string>; error: BuildError }>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function shorten(path: string): string {
    return isInsideFolder(root, path) ? relative(root, path) : path;
  }

  function scheduleFlush(): void {
    timer ??= setTimeout(flush, BATCH_MS);
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { names, error } of failures.values()) {
      output.note(`${output.red("error")} ${list(names)} cannot be loaded`);
      for (const each of error.errors) output.note(plain(renderSourceError(each), "\n"));
    }
    if (reloads.size > 0) output.line(`          ${output.green("reloaded")} ${list(reloads)}`);
    reloads = new Set();
    failures = new Map();
  }

  function showLine(line: LogLine, write: (text: string) => void): void {
    if (!/^(?:WARN|ERROR|CRITICAL|FATAL)$/.test(line.level)) return;
    const paint = line.level === "WARN" ? output.yellow : output.red;
    const { text, lines } = describeLogError(line, shorten);
    write(`          ${paint(line.level)} ${plain(line.message)}${plain(text)}`);
    for (const more of lines) write(`             ${plain(more)}`);
  }

  function showCall(call: Call): void {
    if (call.isRunning || shown.has(call)) return;
    shown.add(call);
    flush();
    const word = call.status === undefined ? call.note ?? "done" : String(call.status);
    const paint = call.isFailed
      ? output.red
      : (call.status ?? 200) >= 400
      ? output.yellow
      : output.green;
    const title = plain(call.title).slice(0, MAX_TITLE);
    const name = call.functionName === undefined || title.startsWith(call.functionName)
      ? ""
      : `  ${call.functionName}`;
    output.line(
      `${call.startedAt.slice(11, 19)}  ${
        paint(plain(word.split("\n")[0]).slice(0, MAX_TITLE))
      }  ${title}${name}  ${call.durationMs} ms`,
    );
    for (const line of call.logs) showLine(line, output.line);
    const hasLoggedError = call.logs.some(({ level }) => level === "ERROR");
    if (call.isFailed && call.status !== undefined && call.note !== undefined && !hasLoggedError) {
      output.line(`          ${output.red("ERROR")} ${plain(call.note)}`);
    }
  }

  return {
    step: output.step,
    note: output.note,
    warn: (text) => output.warn(text),
    show(event): void {
      if (event.type === "call") showCall(event.call);
      if (event.type === "log") showLine(event.log, output.note);
    },
    reloaded(fn): void {
      reloads.add(fn.name);
      scheduleFlush();
    },
    failed(fn, error): void {
      const known = failures.get(error.message);
      if (known === undefined) failures.set(error.message, { names: new Set([fn.name]), error });
      else known.names.add(fn.name);
      scheduleFlush();
    },
    flush,
  };
}

function list(names: ReadonlySet<string>): string {
  return summarizeList([...names].sort(), MAX_NAMES);
}

/** Replaces control characters: this text comes from requests and functions. */
function plain(text: string, allowed = ""): string {
  return text.replace(
    // deno-lint-ignore no-control-regex
    /[\u0000-\u001f\u007f-\u009f]/g,
    (char) => allowed.includes(char) ? char : " ",
  );
}
