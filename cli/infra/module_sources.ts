import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { toPortablePath } from "../files/inside_folder.ts";
import { listParentFolders } from "../files/parent_folders.ts";
import { MODULES_MANIFEST } from "./modules_manifest.ts";

/** Locations of the Terraform modules, as seen from the generated files. */
export interface ModuleSources {
  /** Returns the `source` of a module block. */
  readonly getSource: (module: string) => string;
  /**
   * Returns copies of module files to write next to the generated files, by path; empty if the
   * modules are referenced in place.
   */
  copies(modules: Iterable<string>): ReadonlyMap<string, string>;
}

/** Folder of the copies, next to the generated files. */
export const COPIES = "modules";

/**
 * Decides how Terraform finds the modules. A path that is the same on every machine (in
 * `node_modules`, in the project, next to it, or configured) is referenced in place. Modules in a
 * cache folder, which differs between machines, or in an archive of Yarn, which Terraform cannot read,
 * are copied next to the generated files.
 *
 * @param infraDir Absolute path of the generated files.
 * @param modulesPath Absolute path of the modules.
 * @param isGiven True if the path is configured.
 */
export function planModuleSources(
  root: string,
  infraDir: string,
  modulesPath: string,
  isGiven: boolean,
): ModuleSources {
  const stable = isGiven ? modulesPath : findStablePath(root, modulesPath);
  if (stable !== undefined) {
    const base = toPortablePath(infraDir, stable);
    // Terraform treats other sources as registry addresses
    const source = /^\.{1,2}(?:\/|$)/.test(base) || base.startsWith("/") ? base : `./${base}`;
    return { getSource: (module) => `${source}/${module}`, copies: () => new Map() };
  }
  return {
    getSource: (module) => `./${COPIES}/${module}`,
    copies(modules): ReadonlyMap<string, string> {
      const copies = new Map<string, string>();
      for (const module of modules) {
        for (
          const path of Object.keys(MODULES_MANIFEST).filter((each) => dirname(each) === module)
        ) {
          copies.set(path, readFileSync(join(modulesPath, path), "utf8").replaceAll("\r\n", "\n"));
        }
      }
      return copies;
    },
  };
}

/** Folders in an archive, and those that only exist for programs with Yarn's loader. */
const YARN_ARCHIVE = /\.zip[/\\]|[/\\]__virtual__[/\\]/;

function findStablePath(root: string, modulesPath: string): string | undefined {
  if (YARN_ARCHIVE.test(modulesPath)) return undefined;
  const ancestors = [...listParentFolders(root)];
  // package managers create a link whose path does not contain the version
  for (const at of ancestors) {
    const linked = join(at, "node_modules", "@trellis", "fn", "modules");
    if (existsSync(linked) && realpathSync(linked) === realpathSync(modulesPath)) return linked;
  }
  const home = dirname(modulesPath);
  const isAround = ancestors.includes(home);
  const isBeside = dirname(home) === dirname(root);
  return isAround || isBeside || home.startsWith(root + sep) ? modulesPath : undefined;
}

/**
 * Finds the copied modules that the project's own Terraform files use.
 *
 * @param infraDir Absolute path of the Terraform files.
 * @param isGenerated Returns true for the text of a generated file.
 * @returns Their names: `observability`.
 */
export function findOwnModules(
  infraDir: string,
  isGenerated: (text: string) => boolean,
): Set<string> {
  const found = new Set<string>();
  if (!existsSync(infraDir)) return found;
  for (const name of readdirSync(infraDir).filter((each) => each.endsWith(".tf"))) {
    const text = readFileSync(join(infraDir, name), "utf8");
    if (isGenerated(text)) continue;
    for (const line of text.split("\n").map((each) => each.trim())) {
      const [, module] = line.startsWith("source") ? line.split(`"./${COPIES}/`) : [];
      if (module?.endsWith('"')) found.add(module.slice(0, -1));
    }
  }
  return found;
}
