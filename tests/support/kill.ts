/** Kills a process, unless it has ended. */
export function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // it ended in the meantime
  }
}
