import { existsSync, statSync } from "node:fs";
import * as ownPath from "node:path";
import process from "node:process";

/** The parts of the operating system that {@link findProgram} reads. */
export interface ProgramSearch {
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly path: Pick<typeof ownPath, "extname" | "isAbsolute" | "join" | "resolve">;
  isFile(path: string): boolean;
}

const THIS_SYSTEM: ProgramSearch = {
  platform: process.platform,
  env: process.env,
  path: ownPath,
  isFile: (path) => existsSync(path) && statSync(path).isFile(),
};

/** Windows' own value of PATHEXT, without script hosts that Node.js cannot start. */
const EXTENSIONS = ".COM;.EXE;.BAT;.CMD";

/**
 * Finds the file of a program. On Windows it searches the folders of PATH for the extensions of
 * PATHEXT, which finds the `.cmd` files that npm installs. It does not search the working directory,
 * where Windows looks first: a file of the project must not replace an installed program.
 *
 * @param name A name such as `terraform`, or a path.
 * @param cwd The folder that a relative path is relative to.
 * @param search The operating system.
 * @returns Absolute path on Windows; the name itself on other systems, which search by themselves.
 * `undefined` if Windows has no such program.
 */
export function findProgram(
  name: string,
  cwd: string,
  { platform, env, path, isFile }: ProgramSearch = THIS_SYSTEM,
): string | undefined {
  if (platform !== "win32") return name;
  const extensions = (env.PATHEXT ?? EXTENSIONS).toLowerCase().split(";").filter(Boolean);
  const endings = extensions.includes(path.extname(name).toLowerCase()) ? [""] : extensions;
  const folders = /[/\\]/.test(name)
    ? [path.resolve(cwd)]
    : (env.PATH ?? "").split(";").map(withoutQuotes).filter(path.isAbsolute);
  const getPath = path.isAbsolute(name) ? () => name : path.join;
  return folders
    .flatMap((folder) => endings.map((ending) => `${getPath(folder, name)}${ending}`))
    .find(isFile);
}

function withoutQuotes(folder: string): string {
  return folder.trim().replaceAll('"', "");
}
