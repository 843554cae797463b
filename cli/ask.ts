import process from "node:process";
import { text } from "node:stream/consumers";

/** Returns true if a question can be asked on the terminal. */
export function isTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Asks a yes/no question on the terminal.
 *
 * @param question One sentence that ends with a question mark.
 * @returns True for `y` or `yes`; `undefined` when there is no terminal to ask on.
 */
export async function askOnTerminal(question: string): Promise<boolean | undefined> {
  const answer = await askForLine(`${question} [y/N] `);
  return answer === undefined ? undefined : /^y(?:es)?$/i.test(answer);
}

/**
 * Asks for a line on the terminal.
 *
 * @param question The text before the cursor.
 * @returns The line without spaces around it; `undefined` when there is no terminal to ask on.
 */
export async function askForLine(question: string): Promise<string | undefined> {
  if (!isTerminal()) return undefined;
  const { stdin, stderr } = process;
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    return (await terminal.question(question)).trim();
  } finally {
    terminal.close();
  }
}

/**
 * Reads standard input to its end.
 *
 * @param request Shown first if standard input is a terminal.
 * @returns The text.
 */
export async function readStandardInput(request: string): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY) stderr.write(`${request}\n`);
  return await text(stdin);
}
