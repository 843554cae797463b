import * as ownPath from "node:path";

/** The parts of `node:path` that {@link isInsideFolder} needs. */
type PathModule = Pick<typeof ownPath, "isAbsolute" | "relative" | "sep">;

/**
 * Checks whether a path is a folder or in it. On Windows a path on another drive is not.
 *
 * @param folder Absolute path of the folder.
 * @param file Absolute path.
 * @param path The path module of the platform.
 */
export function isInsideFolder(
  folder: string,
  file: string,
  { relative, isAbsolute, sep }: PathModule = ownPath,
): boolean {
  const way = relative(folder, file);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Converts a path to the form of generated files and messages: relative, with forward slashes.
 *
 * @param folder Absolute path of the folder that it is relative to.
 * @param file Absolute path.
 * @param path The path module of the platform.
 */
export function toPortablePath(
  folder: string,
  file: string,
  { relative, sep }: PathModule = ownPath,
): string {
  return relative(folder, file).split(sep).join("/");
}
