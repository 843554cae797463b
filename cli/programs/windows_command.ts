import { ConfigurationError } from "../../errors/http_errors.ts";

/** What to start in place of a program. */
export interface StartCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** True if Node.js must pass the arguments unchanged. */
  readonly isVerbatim: boolean;
}

/** Characters with a meaning that quotes of `cmd.exe` do not remove. */
const UNQUOTABLE = ['"', "%", "\r", "\n", "\0"];

/**
 * Creates the command that starts a program. Windows runs `.cmd` and `.bat` files, such as the
 * programs that npm installs, only through `cmd.exe`.
 *
 * Arguments are quoted, so `cmd.exe` reads `&`, `|`, `<`, `>` and `^` as text, both in its command
 * line and in a batch file that passes `%*` on.
 *
 * @param program Path of the program, from `findProgram`.
 * @param shell Path of `cmd.exe`.
 * @throws {ConfigurationError} If a batch file would receive an argument that cannot be quoted.
 */
export function createStartCommand(
  program: string,
  args: readonly string[],
  shell: string,
): StartCommand {
  if (!/\.(?:bat|cmd)$/i.test(program)) return { file: program, args, isVerbatim: false };
  const line = [program, ...args].map((text) => quote(text, program)).join(" ");
  // with /s, cmd.exe removes the outer quotes and leaves all others
  return { file: shell, args: ["/d", "/v:off", "/s", "/c", `"${line}"`], isVerbatim: true };
}

function quote(text: string, program: string): string {
  const found = UNQUOTABLE.find((each) => text.includes(each));
  if (found !== undefined) {
    throw new ConfigurationError(
      `${program} is a batch file, and Windows cannot pass ${JSON.stringify(text)} to it: ` +
        `it contains ${JSON.stringify(found)}. Install the program as an .exe file`,
    );
  }
  // a program reads \" as a quote, so backslashes before the closing quote are doubled
  let end = text.length;
  while (text[end - 1] === "\\") end--;
  return `"${text}${text.slice(end)}"`;
}
