import type { Collector } from "./collector.ts";
import { isUnused, type Path, type Step } from "./effects.ts";
import { collectOriginSecret, type PackageCollector, type PackageUse } from "./package_use.ts";
import { getEnvNameStep } from "./required_constants.ts";
import type { ts } from "./typescript.ts";

/** Functions that read an environment variable, with the step that requires its name. */
const ENV_READS: Readonly<Record<string, Step>> = {
  getRequiredEnv: getEnvNameStep("required"),
  getOptionalEnv: getEnvNameStep("optional"),
  secret: getEnvNameStep("secret"),
};

/** Collectors of the functions that read the environment. */
export const ENVIRONMENT_COLLECTORS: Readonly<Record<string, PackageCollector>> = {
  ...Object.fromEntries(Object.keys(ENV_READS).map((name) => [name, collectRead])),
  loadSources(c, { path }): void {
    c.emit({ kind: "env-sources" });
    c.release(path);
  },
  defineEnv(c, { node, path, rest, given }): void {
    // the environment is read on first use; with a second argument, another source may be read
    if (given[0] !== undefined && given[1] === undefined && !isUnused(rest)) {
      c.emit({ kind: "env-definition", definition: given[0], node });
    }
    c.release(path);
  },
  getClientAddress(c, use): void {
    collectOriginSecret(c, use);
    for (const argument of use.given) c.reach(argument, []);
    c.release(use.rest);
  },
};

function collectRead(c: Collector, { node, name, path, given }: PackageUse): void {
  if (given[0] === undefined) {
    c.unresolved(
      node,
      `${name} is passed as a value: the variables it reads cannot be determined statically`,
      "environment",
    );
  } else c.reach(given[0], [ENV_READS[name]]);
  c.release(path);
}

/** Checks whether a specifier is the `process` module. */
export function isProcessModule(module: string): boolean {
  return module === "node:process" || module === "process";
}

/**
 * Collects an environment variable that is read directly: `process.env.STAGE`. It counts as
 * optional.
 */
export function collectProcess(c: Collector, node: ts.Node, path: Path): void {
  const [member, name] = path;
  if (member !== "env" || typeof name !== "string" || name.startsWith("\0")) return;
  c.emit({ kind: "env", name, isRequired: false, node });
}
