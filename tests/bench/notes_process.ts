import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Answer, Send } from "./notes_requests.ts";

const PROGRAM = fileURLToPath(new URL("programs/notes_costs.mjs", import.meta.url));

/** An answer, with what its request cost. */
export interface CountedAnswer extends Answer {
  /** Promises that were created. */
  readonly promises: number;
  /** Functions that were given a name. */
  readonly names: number;
  /** 1 once the function has loaded `rest.cjs`. */
  readonly rest: number;
}

/** The built functions in a process of Node. */
export interface NotesProcess {
  readonly send: Send<CountedAnswer>;
  stop(): Promise<void>;
}

/**
 * Loads the built functions in a new process. It answers one request at a time.
 *
 * @param dist The folder with the functions.
 * @param variables Their environment variables.
 */
export function startNotes(dist: string, variables: Record<string, string>): NotesProcess {
  const env = { PATH: Deno.env.get("PATH"), ...variables };
  const child = spawn("node", [PROGRAM, dist], { env, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let resolve: ((answer: CountedAnswer) => void) | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    // the functions write their log lines there, too
    if (line.startsWith('{"promises":')) resolve?.(JSON.parse(line));
  });
  return {
    async send(name, event): Promise<CountedAnswer> {
      const answer = new Promise<CountedAnswer>((settle) => resolve = settle);
      child.stdin.write(`${JSON.stringify({ name, event })}\n`);
      const failed = ended.then(() => Promise.reject(new Error("the functions ended")));
      return await Promise.race([answer, failed]);
    },
    async stop(): Promise<void> {
      child.stdin.end();
      child.kill();
      await ended;
    },
  };
}
