import { dirname, join } from "node:path";

/** Texts or bytes of files by their paths in a folder. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** Writes files, and the folders that contain them. */
export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    if (typeof content === "string") await Deno.writeTextFile(join(folder, path), content);
    else await Deno.writeFile(join(folder, path), content);
  }
}

/**
 * Runs a function with a temporary folder, and removes the folder afterwards.
 *
 * @param files The files in the folder.
 * @param use Receives the folder's path.
 * @returns The result of the function.
 */
export async function withTempFolder<T>(
  files: Files,
  use: (folder: string) => T | Promise<T>,
): Promise<T> {
  // commands take the name of a project from its folder: it begins with a letter
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-test-" }));
  try {
    await writeFiles(folder, files);
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
