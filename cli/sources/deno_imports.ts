import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseJsonc } from "../files/jsonc.ts";
import { listParentFolders } from "../files/parent_folders.ts";
import { getPackageName, isTrellis } from "./package_specifier.ts";

interface JsonObject {
  readonly [key: string]: unknown;
}

/**
 * Resolves specifiers by the import maps and workspaces of Deno, which esbuild does not read; each file is read once.
 * esbuild itself knows the aliases of package.json and tsconfig.json.
 */
export class DenoImports {
  readonly #files = new Map<string, JsonObject | undefined>();

  /**
   * Finds the target of a specifier.
   *
   * @param specifier The specifier of an import, not a relative one.
   * @param folder The folder of the importing file.
   * @returns An absolute path, or another specifier; `undefined` if no map has the specifier, and for this package
   * itself, which is that of the command line.
   */
  find(specifier: string, folder: string): string | undefined {
    if (isTrellis(specifier)) return undefined;
    const target = this.#findKey(specifier, folder);
    if (target !== undefined) return target;
    // the key `zod` also stands for `zod/mini`, if it is a package
    const name = getPackageName(specifier);
    const whole = name === specifier ? undefined : this.#findKey(name, folder);
    return whole !== undefined && /^(?:npm|jsr):/.test(whole)
      ? whole + specifier.slice(name.length)
      : undefined;
  }

  #findKey(specifier: string, folder: string): string | undefined {
    for (const at of listParentFolders(folder)) {
      const config = this.#readConfig(at);
      if (config === undefined) continue;
      const map = typeof config.importMap === "string" ? resolve(at, config.importMap) : undefined;
      const imports = map === undefined ? config.imports : this.#readJson(map)?.imports;
      const target = matchImportMap(imports as JsonObject | undefined, specifier);
      if (target !== undefined) {
        return /^\.{0,2}\//.test(target)
          ? resolve(map === undefined ? at : dirname(map), target)
          : target;
      }
      const member = this.#findMember(config, at, specifier);
      if (member !== undefined) return member;
    }
    return undefined;
  }

  /** Finds a member of a workspace, which is imported by its name. */
  #findMember({ workspace }: JsonObject, folder: string, specifier: string): string | undefined {
    const members = Array.isArray(workspace)
      ? workspace
      : (workspace as { members?: unknown[] } | undefined)?.members;
    for (const member of [".", ...members ?? []]) {
      const at = resolve(folder, String(member));
      const { name, exports } = this.#readConfig(at) ?? {};
      if (name === undefined || getPackageName(specifier) !== name) continue;
      const entries = typeof exports === "string" ? { ".": exports } : exports as JsonObject;
      const target = entries?.[`.${specifier.slice(name.length)}`];
      if (typeof target === "string") return resolve(at, target);
    }
    return undefined;
  }

  #readConfig(folder: string): JsonObject | undefined {
    return this.#readJson(join(folder, "deno.json")) ?? this.#readJson(join(folder, "deno.jsonc"));
  }

  #readJson(path: string): JsonObject | undefined {
    if (!this.#files.has(path)) {
      try {
        const text = existsSync(path) ? readFileSync(path, "utf8") : undefined;
        this.#files.set(path, text === undefined ? undefined : parseJsonc(text) as JsonObject);
      } catch (cause) {
        throw new SyntaxError(`${path}: ${(cause as Error).message}`, { cause });
      }
    }
    return this.#files.get(path);
  }
}

/**
 * Matches a specifier with an import map: an exact key, else the longest prefix that ends in a
 * slash (https://html.spec.whatwg.org/multipage/webappapis.html#import-maps).
 */
function matchImportMap(imports: JsonObject | undefined, specifier: string): string | undefined {
  const exact = imports?.[specifier];
  if (typeof exact === "string") return exact;
  const [prefix] = Object.keys(imports ?? {})
    .filter((key) => key.endsWith("/") && specifier.startsWith(key))
    .sort((a, b) => b.length - a.length);
  return prefix === undefined ? undefined : `${imports![prefix]}${specifier.slice(prefix.length)}`;
}
