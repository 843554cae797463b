import process from "node:process";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { Output } from "../output.ts";
import { type BuildError, renderFault } from "./build_error.ts";
import { describeLogError } from "./describe_log_error.ts";
import type { Call, DevEvent, LogLine } from "./recorder.ts";

/** What `trellis dev` says while it runs. */
export interface Terminal {
  /** A step of the start. */
  progress(text: string): void;
  warn(text: string): void;
  /** One line for each call that ends, with its warnings and errors. */
  show(event: DevEvent): void;
  /** A function was loaded anew. */
  reloaded(fn: FunctionFile): void;
  /** A function's sources are at fault. */
  failed(fn: FunctionFile, error: BuildError): void;
  /** Says now what is told together otherwise. */
  flush(): void;
}

const MAX_TITLE = 100;
/** One change may concern many functions: it is told once. */
const TOGETHER_MS = 100;
const MAX_NAMES = 4;

/**
 * Makes the terminal's side of `trellis dev`.
 *
 * @param output The command's output.
 * @param root Absolute path of the project.
 */
export function createTerminal(output: Output, root: string = process.cwd()): Terminal {
  const shown = new WeakSet<Call>();
  let reloads = new Set<string>();
  let faults = new Map<string, { names: Set<string>; error: BuildError }>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function later(): void {
    timer ??= setTimeout(flush, TOGETHER_MS);
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { names, error } of faults.values()) {
      output.note(`${output.red("error")} ${list(names)} cannot be loaded`);
      for (const fault of error.faults) output.note(plain(renderFault(fault), "\n"));
    }
    if (reloads.size > 0) output.line(`          ${output.green("reloaded")} ${list(reloads)}`);
    reloads = new Set();
    faults = new Map();
  }

  function showLine(line: LogLine, write: (text: string) => void): void {
    if (!/^(?:WARN|ERROR|CRITICAL|FATAL)$/.test(line.level)) return;
    const paint = line.level === "WARN" ? output.yellow : output.red;
    const { text, lines } = describeLogError(line, root);
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
    const hasTold = call.logs.some(({ level }) => level === "ERROR");
    if (call.isFailed && call.status !== undefined && call.note !== undefined && !hasTold) {
      output.line(`          ${output.red("ERROR")} ${plain(call.note)}`);
    }
  }

  return {
    progress: (text) => output.note(text),
    warn: (text) => output.warn(text),
    show(event): void {
      if (event.type === "call") showCall(event.call);
      if (event.type === "log") showLine(event.log, output.note);
    },
    reloaded(fn): void {
      reloads.add(fn.name);
      later();
    },
    failed(fn, error): void {
      const known = faults.get(error.message);
      if (known === undefined) faults.set(error.message, { names: new Set([fn.name]), error });
      else known.names.add(fn.name);
      later();
    },
    flush,
  };
}

function list(names: ReadonlySet<string>): string {
  const some = [...names].sort();
  return some.length <= MAX_NAMES
    ? some.join(", ")
    : `${some.slice(0, MAX_NAMES).join(", ")} and ${some.length - MAX_NAMES} more`;
}

/** Terminals act on control characters; what is shown here came from outside. */
function plain(text: string, allowed = ""): string {
  return text.replace(
    // deno-lint-ignore no-control-regex
    /[\u0000-\u001f\u007f-\u009f]/g,
    (char) => allowed.includes(char) ? char : " ",
  );
}
