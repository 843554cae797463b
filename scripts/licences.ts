#!/usr/bin/env -S deno run -A
// deno-lint-ignore-file no-console
/**
 * Prints the licences of all packages in deno.lock as a page, grouped by how users receive them. It
 * reads the installed packages and uses no network. A release publishes the page.
 *
 *   deno run -A scripts/licences.ts            prints the page
 *   deno run -A scripts/licences.ts --check    prints only faults
 *
 * Both exit with 1 if a licence is unknown or requires more than attribution.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { OPTIONAL_PACKAGES } from "../cli/terminal/optional_packages.ts";
import { createManifest, type PackageConfig } from "./npm_manifest.ts";
import { runOrThrow } from "./program.ts";

/** A package in the lock file. */
export interface LockedPackage {
  /** Names of its dependencies, with `@version` if there are several versions. */
  dependencies?: string[];
  /** Optional peer dependencies. */
  optionalPeers?: string[];
  /** Names of its optional dependencies. */
  optionalDependencies?: string[];
  /** Supported operating systems. Default: all. */
  os?: string[];
  /** Supported processors. */
  cpu?: string[];
}

/** The npm part of deno.lock: packages by `name@version`, with a suffix for versions of peers. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/** Way in which a user receives a package. */
export type Reach = "package" | "optional" | "development";

/** A line of the list. */
export interface LicensedPackage {
  name: string;
  version: string;
  licence: string;
  reach: Reach;
}

/** Accepted licences (SPDX ids), which require attribution at most. */
const PERMISSIVE: ReadonlySet<string> = new Set([
  ...[
    "0BSD",
    "Apache-2.0",
    "BlueOak-1.0.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
  ],
  ...["PostgreSQL", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"],
]);

/** Exceptions for packages that are neither changed nor distributed: name, licence, reason. */
const DEVELOPMENT_ONLY: readonly (readonly [name: string, licence: string, why: string])[] = [
  [
    "@cdktf/hcl2json",
    "MPL-2.0",
    "reads Terraform in scripts and tests; its files are neither changed nor passed on",
  ],
  ["xml-escape", "MIT License", "the MIT licence, which the package does not name by its SPDX id"],
];

/** Checks that an SPDX expression allows an accepted licence. */
export function isPermissive(licence: string): boolean {
  const text = licence.trim().replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(text)) return false; // not supported: needs a manual review
  return text.split(/ OR /).some((choice) =>
    choice.split(/ AND /).every((id) => PERMISSIVE.has(id.trim()))
  );
}

/**
 * Lists the packages whose licence is not accepted.
 *
 * @returns One line for each fault.
 */
export function findFaults(packages: readonly LicensedPackage[]): string[] {
  return packages.filter(({ name, licence, reach }) =>
    !isPermissive(licence) &&
    !(reach === "development" &&
      DEVELOPMENT_ONLY.some(([known, of]) => known === name && of === licence))
  ).map(({ name, version, licence, reach }) =>
    `${name}@${version} (${reach}) has the licence ${
      licence || "(none)"
    }: replace the package, or read the licence and ` +
    "say in scripts/licences.ts why it may stay"
  );
}

/**
 * Returns the packages of a lock file with their licences.
 *
 * @param locked The lock file's packages.
 * @param roots Names of the dependencies and of the optional peers of the published package.
 * @param readLicence Reads the licence of an installed package.
 * @returns The list, sorted by name.
 */
export function listLicences(
  locked: LockedPackages,
  roots: Readonly<Record<Exclude<Reach, "development">, readonly string[]>>,
  readLicence: (name: string, version: string) => string,
): LicensedPackage[] {
  const keys = Object.keys(locked);
  const find = (wanted: string) =>
    keys.filter((key) =>
      key === wanted || key.startsWith(`${wanted}@`) || key.startsWith(`${wanted}_`)
    );
  const reached = new Map<string, Reach>();
  for (const reach of ["package", "optional"] as const) {
    const left = roots[reach].flatMap(find);
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      if (reached.has(key)) continue;
      reached.set(key, reach);
      const { dependencies = [], optionalDependencies = [], optionalPeers = [] } = locked[key];
      const own = dependencies.filter((name) =>
        !optionalPeers.some((peer) => name === peer || name.startsWith(`${peer}@`))
      );
      left.push(...[...own, ...optionalDependencies].flatMap(find));
    }
  }
  const seen = new Map<string, LicensedPackage>();
  for (const key of keys) {
    const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key)!;
    const id = `${name}@${version}`;
    if (seen.has(id)) continue;
    // a package for another system is not installed; it belongs to the package that selects it
    const parent = isForSomeSystems(locked[key]) ? getParent(key, locked) : undefined;
    const [, parentName, parentVersion] = parent === undefined
      ? []
      : /^(@?[^@]+)@([^_]+)/.exec(parent)!;
    const licence = parentName === undefined
      ? readLicence(name, version)
      : readLicence(parentName, parentVersion);
    seen.set(id, { name, version, licence, reach: reached.get(key) ?? "development" });
  }
  return [...seen.values()].sort((a, b) =>
    `${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1
  );
}

function isForSomeSystems({ os, cpu }: LockedPackage): boolean {
  return os !== undefined || cpu !== undefined;
}

function getParent(key: string, locked: LockedPackages): string | undefined {
  return Object.keys(locked).find((other) =>
    locked[other].optionalDependencies?.some((name) => key === name || key.startsWith(`${name}@`))
  );
}

const TITLES: Readonly<Record<Reach, string>> = {
  package: "Installed with the package",
  optional: "Installed when you use the part that needs it",
  development: "Development of this repository only",
};

/** Renders the page. */
export function renderLicences(packages: readonly LicensedPackage[]): string {
  const counts = new Map<string, number>();
  for (const { licence } of packages) counts.set(licence, (counts.get(licence) ?? 0) + 1);
  const sections = (Object.keys(TITLES) as Reach[]).map((reach) => {
    const rows = packages.filter((each) => each.reach === reach);
    const lines = rows.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
    return `## ${TITLES[reach]}\n\n| package | version | licence |\n| --- | --- | --- |\n${
      lines.join("\n")
    }\n`;
  });
  const exceptions = DEVELOPMENT_ONLY.map(([name, licence, why]) =>
    `- ${name} (${licence}): ${why}.`
  );
  return [
    "# Licences of dependencies",
    "",
    "This package has the MIT licence. Its dependencies require attribution at most. CI fails on " +
    "any other licence and on a package " +
    "without one. Packages for one system or processor are " +
    "listed under the package that selects them.",
    "",
    `${packages.length} packages: ${
      [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([licence, n]) => `${n} ${licence}`).join(
        ", ",
      )
    }.`,
    "",
    ...sections,
    "## Other licences, development only",
    "",
    ...exceptions,
    "",
  ].join("\n");
}

/** Returns a function that reads manifests from Deno's package cache. */
async function installedLicences(): Promise<(name: string, version: string) => string> {
  const { stdout } = await runOrThrow(Deno.execPath(), ["info", "--json"]);
  const { npmCache } = JSON.parse(stdout) as { npmCache: string };
  const registries = [...Deno.readDirSync(npmCache)].filter(({ isDirectory }) => isDirectory);
  return function readLicence(name, version): string {
    for (const registry of registries) {
      let text: string;
      try {
        text = Deno.readTextFileSync(
          `${npmCache}/${registry.name}/${name}/${version}/package.json`,
        );
      } catch {
        continue;
      }
      return getLicence(JSON.parse(text));
    }
    throw new Error(`${name}@${version} is not installed: run deno ci`);
  };
}

/** Returns the licence of a manifest, in the current format or in the two old ones. */
export function getLicence(manifest: { license?: unknown; licenses?: unknown }): string {
  const { license, licenses } = manifest;
  if (typeof license === "string") return license;
  const named = Array.isArray(licenses) ? licenses : [license];
  return named.map((each) => (each as { type?: unknown } | undefined)?.type).filter(Boolean).join(
    " OR ",
  );
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const config = JSON.parse(await Deno.readTextFile(`${root}deno.json`)) as PackageConfig;
  const lock = JSON.parse(await Deno.readTextFile(`${root}deno.lock`)) as { npm: LockedPackages };
  const target = { types: "", import: "", default: "./cli/mod.js" };
  const manifest = createManifest(config, { ".": target, "./cli": target });
  const optional = Object.keys(OPTIONAL_PACKAGES);
  const peers = Object.keys(manifest.peerDependencies as object);
  const needed = peers.filter((name) => !optional.includes(name));
  const packages = listLicences(lock.npm, { package: needed, optional }, await installedLicences());
  const faults = findFaults(packages);
  for (const fault of faults) console.error(fault);
  console.log(
    Deno.args.includes("--check")
      ? `${packages.length} packages, ${faults.length} faults`
      : renderLicences(packages),
  );
  if (faults.length > 0) Deno.exitCode = 1;
}
