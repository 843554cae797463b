import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { MODULES_MANIFEST } from "./modules_manifest.ts";

/** Where the generated files find the modules. */
export interface ModuleSources {
  /** What a call of a module names as its source. */
  readonly getSource: (module: string) => string;
  /** Copies to be kept beside the generated files, by path under their folder; empty where the modules need none. */
  copies(modules: Iterable<string>): ReadonlyMap<string, string>;
}

/** Folder of the copies, under that of the generated files. */
export const COPIES = "modules";

/**
 * Decides how Terraform reaches the modules. A path that is the same for everybody who works on the project (in its
 * `node_modules`, beside it, around it, or given) is named as it is. A cache folder differs from machine to machine: what lies
 * there is copied beside the generated files.
 *
 * @param root Absolute path of the project.
 * @param infraDir Absolute path of the generated files.
 * @param modulesPath Absolute path of the modules.
 * @param isGiven Whether somebody named the path.
 */
export function planModuleSources(
  root: string,
  infraDir: string,
  modulesPath: string,
  isGiven: boolean,
): ModuleSources {
  const stable = isGiven ? modulesPath : stablePath(root, modulesPath);
  if (stable !== undefined) {
    const base = relative(infraDir, stable).split(sep).join("/");
    // Terraform takes what does not begin so for a name in a registry
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

function stablePath(root: string, modulesPath: string): string | undefined {
  const ancestors: string[] = [];
  for (let at = root;; at = dirname(at)) {
    ancestors.push(at);
    if (dirname(at) === at) break;
  }
  // package managers link the package: its name's path outlives its version's
  for (const at of ancestors) {
    const linked = join(at, "node_modules", "@trellis", "fn", "modules");
    if (existsSync(linked) && realpathSync(linked) === realpathSync(modulesPath)) return linked;
  }
  const home = dirname(modulesPath);
  const isAround = ancestors.includes(home);
  const isBeside = dirname(home) === dirname(root);
  return isAround || isBeside || home.startsWith(root + sep) ? modulesPath : undefined;
}
