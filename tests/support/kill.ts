/** Kills a process, unless it has ended. */
function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // it ended in the meantime
  }
}

/** A program that has ended. */
export interface EndedProgram {
  /** True if it was killed, by itself or by the test. */
  readonly isKilled: boolean;
  /** Its exit code. */
  readonly code: number;
  /** What it wrote to standard output. */
  readonly text: string;
  /** What it wrote to standard error. */
  readonly errors: string;
}

/**
 * Runs a program with Deno, and kills it some time after it wrote something.
 *
 * @param args Path and arguments of the program, after options of `deno run`.
 * @param delayMs Time until the program is killed.
 * @param isTime Gets the output so far, and returns true once the time begins.
 */
export async function runAndKill(
  args: readonly string[],
  delayMs: number,
  isTime: (text: string) => boolean,
): Promise<EndedProgram> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", ...args],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  let text = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (timer === undefined && isTime(text)) timer = setTimeout(() => kill(child), delayMs);
  }
  const { signal, code } = await child.status;
  clearTimeout(timer);
  return { isKilled: signal !== null, code, text, errors: await errors };
}
