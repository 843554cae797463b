/** How a program ended. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a program runs. */
export interface RunOptions {
  cwd?: string;
  /** Added to the environment of the tests. */
  env?: Record<string, string>;
}

/** Runs a program to its end. */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd: options.cwd,
    env: { NO_COLOR: "1", npm_config_update_notifier: "false", ...options.env },
    stdin: "null",
  }).output();
  return {
    code,
    stdout: new TextDecoder().decode(stdout),
    stderr: new TextDecoder().decode(stderr),
  };
}

/** Runs a program that must end well. */
export async function runOk(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  const finished = await run(command, args, options);
  if (finished.code !== 0) {
    const shown = [command, ...args].join(" ");
    throw new Error(
      `${shown} ended with ${finished.code}:\n${finished.stdout}\n${finished.stderr}`,
    );
  }
  return finished;
}
