import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseJsonc } from "../files/jsonc.ts";
import { listParentFolders } from "../files/parent_folders.ts";
import { getPackageName } from "./package_specifier.ts";

/** Conditions of `imports` and `exports` in package.json, preferring those that lead to sources. */
const CONDITIONS = [
  "source",
  "deno",
  "import",
  "module-sync",
  "module",
  "node",
  "development",
  "default",
  "require",
];

interface JsonObject {
  readonly [key: string]: unknown;
}

/** The targets of an alias. */
export interface AliasTargets {
  /** Candidates in order of preference: absolute paths or package specifiers. */
  readonly candidates: readonly string[];
  /**
   * True if the specifier may be a package instead: the candidates come from a catch-all such as
   * tsconfig's `baseUrl`.
   */
  readonly isGuess: boolean;
}

const NOWHERE: AliasTargets = { candidates: [], isGuess: true };

function certain(...candidates: string[]): AliasTargets {
  return candidates.length === 0 ? NOWHERE : { candidates, isGuess: false };
}

/** Resolves aliases from deno.json, import maps, package.json and tsconfig.json; each file is read once. */
export class ImportAliases {
  readonly #files = new Map<string, JsonObject | undefined>();

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

  #fromDeno(specifier: string, folder: string): AliasTargets {
    for (const at of listParentFolders(folder)) {
      const path = ["deno.json", "deno.jsonc"].map((name) => join(at, name)).find((file) =>
        this.#readJson(file)
      );
      if (path === undefined) continue;
      const config = this.#readJson(path)!;
      const map = typeof config.importMap === "string" ? resolve(at, config.importMap) : undefined;
      const imports = map === undefined ? config.imports : this.#readJson(map)?.imports;
      const target = matchImportMap(imports as JsonObject | undefined, specifier);
      if (target !== undefined) {
        return certain(
          /^\.{0,2}\//.test(target)
            ? resolve(map === undefined ? at : dirname(map), target)
            : target,
        );
      }
      const member = this.#fromWorkspace(config, at, specifier);
      if (member !== undefined) return certain(member);
    }
    return NOWHERE;
  }

  /** Resolves a member of a Deno workspace, which is imported by its name. */
  #fromWorkspace(
    config: JsonObject,
    folder: string,
    specifier: string,
  ): string | undefined {
    const { workspace } = config;
    const members = Array.isArray(workspace)
      ? workspace
      : (workspace as { members?: unknown[] } | undefined)?.members;
    for (const member of [".", ...members ?? []]) {
      const at = resolve(folder, String(member));
      const own = this.#readJson(join(at, "deno.json")) ?? this.#readJson(join(at, "deno.jsonc"));
      const target = own?.name === undefined ? undefined : exported(own, specifier);
      if (target !== undefined) return resolve(at, target);
    }
    return undefined;
  }

  #fromPackageImports(specifier: string, folder: string): AliasTargets {
    if (!specifier.startsWith("#")) return NOWHERE;
    for (const at of listParentFolders(folder)) {
      const config = this.#readJson(join(at, "package.json"));
      if (config === undefined) continue;
      const targets = matchPattern(config.imports as JsonObject | undefined, specifier);
      return certain(
        ...targets.map((target) => target.startsWith(".") ? resolve(at, target) : target),
      );
    }
    return NOWHERE;
  }

  #fromTsConfig(specifier: string, folder: string): AliasTargets {
    for (const at of listParentFolders(folder)) {
      const path = ["tsconfig.json", "jsconfig.json"].map((name) => join(at, name)).find((file) =>
        this.#readJson(file)
      );
      if (path === undefined) continue;
      const { paths, base, baseUrl } = this.#compilerPaths(path, new Set());
      const targets = matchPattern(paths, specifier).map((target) => resolve(base, target));
      if (targets.length > 0 && matchPattern({ ...paths, "*": undefined }, specifier).length > 0) {
        return certain(...targets);
      }
      const candidates = [
        ...targets,
        ...baseUrl === undefined ? [] : [resolve(baseUrl, specifier)],
      ];
      return { candidates, isGuess: true };
    }
    return NOWHERE;
  }

  #compilerPaths(
    path: string,
    seen: Set<string>,
  ): { paths?: JsonObject; base: string; baseUrl?: string } {
    const config = this.#readJson(path) ?? {};
    const at = dirname(path);
    const options = (config.compilerOptions ?? {}) as { paths?: JsonObject; baseUrl?: string };
    const baseUrl = options.baseUrl === undefined ? undefined : resolve(at, options.baseUrl);
    seen.add(path);
    let inherited: { paths?: JsonObject; base: string; baseUrl?: string } = { base: at };
    for (const parent of [config.extends ?? []].flat() as string[]) {
      if (!/^\.{0,2}\//.test(parent)) continue;
      const file = [resolve(at, parent), resolve(at, `${parent}.json`)].find((candidate) =>
        this.#readJson(candidate)
      );
      if (file !== undefined && !seen.has(file)) inherited = this.#compilerPaths(file, seen);
    }
    if (options.paths !== undefined) {
      return { paths: options.paths, base: baseUrl ?? at, baseUrl: baseUrl };
    }
    return { ...inherited, base: baseUrl ?? inherited.base, baseUrl: baseUrl ?? inherited.baseUrl };
  }

  /**
   * Resolves a package of the same repository, which node_modules links to: its real path is
   * outside node_modules.
   */
  #fromLinkedPackage(specifier: string, folder: string): AliasTargets {
    const name = getPackageName(specifier);
    for (const at of listParentFolders(folder)) {
      const link = join(at, "node_modules", name);
      if (!existsSync(join(link, "package.json"))) continue;
      const real = realpathSync(link);
      if (/[/\\]node_modules[/\\]/.test(real)) return NOWHERE;
      const config = this.#readJson(join(real, "package.json"))!;
      const target = exported({ main: "./index", ...config, name }, specifier);
      return target === undefined ? NOWHERE : certain(resolve(real, target));
    }
    return NOWHERE;
  }

  /**
   * Finds the targets of a specifier.
   *
   * @param specifier The specifier of an import, not a relative one.
   * @param folder The folder of the importing file.
   * @returns The targets; no candidates if the specifier is not an alias.
   */
  find(specifier: string, folder: string): AliasTargets {
    const sources = [
      () => this.#fromPackageImports(specifier, folder),
      () => this.#fromDeno(specifier, folder),
      () => this.#fromTsConfig(specifier, folder),
      () => this.#fromLinkedPackage(specifier, folder),
    ];
    for (const read of sources) {
      const targets = read();
      if (targets.candidates.length > 0) return targets;
    }
    return NOWHERE;
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

/**
 * Matches keys with one `*`, as in package.json and tsconfig's `paths`; the key with the longest
 * prefix wins.
 */
function matchPattern(table: JsonObject | undefined, specifier: string): string[] {
  if (table === undefined) return [];
  if (table[specifier] !== undefined) return getTargets(table[specifier]);
  const [best] = Object.keys(table).filter((key) => key.includes("*")).map((key) => {
    const [before, after] = key.split("*");
    const fits = specifier.startsWith(before) && specifier.endsWith(after) &&
      specifier.length >= before.length + after.length;
    return {
      key,
      before,
      star: fits ? specifier.slice(before.length, specifier.length - after.length) : undefined,
    };
  }).filter(({ star }) => star !== undefined).sort((a, b) => b.before.length - a.before.length);
  return best === undefined
    ? []
    : getTargets(table[best.key]).map((target) => target.replaceAll("*", best.star!));
}

function getTargets(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(getTargets);
  if (typeof value !== "object" || value === null) return [];
  return CONDITIONS.flatMap((condition) => getTargets((value as JsonObject)[condition]));
}

function exported(config: JsonObject, specifier: string): string | undefined {
  const name = String(config.name);
  if (specifier !== name && !specifier.startsWith(`${name}/`)) return undefined;
  const subpath = `.${specifier.slice(name.length)}`;
  const { exports } = config;
  if (exports === undefined) {
    return subpath === "."
      ? String(config.source ?? config.module ?? config.main ?? "./index")
      : subpath;
  }
  const isTable = typeof exports === "object" && exports !== null && !Array.isArray(exports) &&
    Object.keys(exports).every((key) => key.startsWith("."));
  return isTable
    ? matchPattern(exports as JsonObject, subpath)[0]
    : subpath === "."
    ? getTargets(exports)[0]
    : undefined;
}
