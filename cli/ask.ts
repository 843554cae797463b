import process from "node:process";

/**
 * Asks a yes/no question on the terminal.
 *
 * @param question One sentence that ends with a question mark.
 * @returns True for `y` or `yes`; `undefined` when there is no terminal to ask on.
 */
export async function askOnTerminal(question: string): Promise<boolean | undefined> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
