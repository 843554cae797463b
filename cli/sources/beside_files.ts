import type { PartialMessage } from "esbuild";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isInsideFolder } from "../files/inside_folder.ts";
import type { Edits, SourceEditor, SourceModule } from "./edited_sources.ts";
import type { ModulePaths } from "./module_paths.ts";
import { type AnyNode, type Edit, getMemberName, getText, visitNodes } from "./syntax.ts";

/** The folder beside a bundle with the files that its code reads. */
export const FILES_FOLDER = "files";

const ADVICE =
  "A bundle is in another folder than its sources. Name the file or its folder with a " +
  'literal: new URL("./page.html", import.meta.url)';

/**
 * Creates the editor for code that reads files beside itself: `new URL("./page.html",
 * import.meta.url)`. Any other use of a module's own path is an error in the project's modules.
 *
 * @param paths How modules belong to packages.
 * @param files Receives the files and folders.
 */
export function besideFilesEditor(
  paths: ModulePaths,
  files: Pick<BesideFiles, "add">,
): SourceEditor {
  return {
    wants: (path, text) =>
      text.includes("import.meta.url") ||
      /\bimport\.meta\.|\b__(?:dir|file)name\b/.test(text) && paths.getPackage(path) === undefined,
    edit: (module) => readPlaces(module, paths.getPackage(module.path) === undefined, files),
  };
}

function readPlaces(module: SourceModule, isOwn: boolean, files: Pick<BesideFiles, "add">): Edits {
  const edits: Edit[] = [];
  const errors: PartialMessage[] = [];
  visitNodes(module.program, (node) => {
    if (node.type === "MemberExpression" && node.object.type === "MetaProperty") readPlace(node);
    else if (node.type === "Identifier" && /^__(?:dir|file)name$/.test(node.name)) {
      refuse(node, `${node.name} is the folder of the bundle here. ${ADVICE}`);
    }
  });
  return { edits, errors };

  function readPlace(node: AnyNode): void {
    const { code, parentOf } = module;
    const name = getMemberName(node);
    const parent = parentOf(node)!;
    if (name === "main" || name === undefined) return;
    if (name === "url" && parent.type === "NewExpression" && parent.arguments[1] === node) {
      return readUrl(parent.arguments[0], parentOf(parent));
    }
    // import.meta.url === pathToFileURL(process.argv[1]).href
    const isCompared = [parent, parentOf(parent)].some((each) =>
      each?.type === "BinaryExpression" && /^[!=]==?$/.test(each.operator)
    );
    if (isCompared || !["url", "dirname", "filename", "resolve"].includes(name)) return;
    const text = code.slice(node.start, node.end);
    refuse(node, `${text} is a place in the bundle here. ${ADVICE}`);
  }

  function readUrl(argument: AnyNode, user: AnyNode | undefined): void {
    const text = getText(argument);
    if (text === undefined) {
      const code = module.code.slice(argument.start, argument.end);
      return refuse(argument, `the file of new URL(${code}) is not known. ${ADVICE}`);
    }
    if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(text)) return;
    const url = new URL(text, pathToFileURL(module.path));
    const path = fileURLToPath(`${url.origin === "null" ? "file://" : url.origin}${url.pathname}`);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return refuse(argument, `${text} does not exist`);
    if (user?.type === "NewExpression" && user.callee.type === "Identifier") {
      if (/Worker$/.test(user.callee.name)) {
        return refuse(argument, `${text} is not bundled as a worker`);
      }
    }
    if (/\.[cm]?tsx?$/.test(path)) {
      return refuse(argument, `${text} is code: import it instead`);
    }
    if (stats.isDirectory() && isInsideFolder(path, module.path)) {
      return refuse(
        argument,
        `${text} contains the code itself: name a folder with the files`,
      );
    }
    const slash = stats.isDirectory() && text.endsWith("/") ? "/" : "";
    const reference = files.add(path) + slash + url.search + url.hash;
    const { start, end } = argument;
    edits.push({ start, end, text: JSON.stringify(reference) });
  }

  /** Adds an error of the project's own code. What packages do is not known. */
  function refuse(node: AnyNode, text: string): void {
    if (!isOwn) return;
    const position = module.findPosition(node.start);
    errors.push({
      text,
      location: position && { ...position, column: position.column - 1 },
    });
  }
}

/** The files that bundles of a project read, by the names that they have in {@link FILES_FOLDER}. */
export class BesideFiles {
  readonly #paths = new Map<string, string>();

  /** Adds a file or a folder; returns the URL at which the bundle finds it. */
  add(path: string): string {
    const hash = createHash("sha256");
    for (const [name, bytes] of listContents(path)) hash.update(`${name}\0`).update(bytes);
    const extension = extname(path);
    // files of the same name and other contents are different files
    const name = `${basename(path, extension)}-${hash.digest("hex").slice(0, 12)}${extension}`
      .replace(/[^\w.-]/g, "_");
    this.#paths.set(name, path);
    return `./${FILES_FOLDER}/${name}`;
  }

  /** Lists the files that a bundle names, by their path in {@link FILES_FOLDER}. */
  listUsed(code: string): Map<string, Uint8Array> {
    const used = [...this.#paths].filter(([name]) => code.includes(`./${FILES_FOLDER}/${name}`));
    return new Map(
      used.flatMap(([name, path]) =>
        listContents(path).map(([inside, bytes]) => [join(name, inside), bytes] as const)
      ),
    );
  }
}

/** Lists a file, or the files in a folder, by their path in it. */
function listContents(path: string): [name: string, bytes: Uint8Array][] {
  if (!statSync(path).isDirectory()) return [["", readFileSync(path)]];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(path, name)).isFile())
    .sort()
    .map((name) => [name, readFileSync(join(path, name))]);
}
