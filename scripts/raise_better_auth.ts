// deno-lint-ignore-file no-console
/**
 * Raises better-auth and its plugins to the newest versions of the registry, with the packages that
 * better-auth pins, and runs the tests of `auth`.
 *
 *   deno run -A scripts/raise_better_auth.ts           changes the files, then runs the tests
 *   deno run -A scripts/raise_better_auth.ts --check   warns if deno.json does not have the newest
 *
 * `--check` always exits with 0: a new version of a dependency is no fault of a commit. Afterwards
 * run better-auth's own tests with `scripts/better_auth_suite.ts`.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { runOrThrow } from "./program.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** better-auth and the plugins that are separate packages. */
export const FAMILY = [
  "better-auth",
  "@better-auth/api-key",
  "@better-auth/core",
  "@better-auth/mcp",
  "@better-auth/oauth-provider",
  "@better-auth/passkey",
  "@better-auth/sso",
] as const;

/** Packages whose versions better-auth decides. Two copies of one of them have two types of errors. */
const PINNED = ["@better-auth/utils", "@better-fetch/fetch", "better-call"] as const;

/** Files with versions of the family, beside deno.json. */
const FILES = [
  "auth/better_auth/optional_packages.ts",
  "cli/init/versions.ts",
  "examples/notes/start_imports.json",
  "examples/notes-node/package.json",
] as const;

/** The lock files, with the command that completes each. */
const LOCKS: Readonly<Record<string, readonly string[]>> = {
  "deno.lock": ["install"],
  "examples/notes/start.lock": [
    "cache",
    "--no-config",
    "--import-map=examples/notes/start_imports.json",
    "--lock=examples/notes/start.lock",
    "examples/notes/start.ts",
  ],
};

/** Versions by name. */
type Versions = Readonly<Record<string, string>>;

/**
 * Returns the versions of deno.json that are not the newest.
 *
 * @param imports The import map.
 * @param newest The newest versions.
 * @returns One line for each, such as `better-auth 1.7.7 -> 1.7.25`.
 */
export function findOutdated(imports: Versions, newest: Versions): string[] {
  return Object.entries(newest).flatMap(([name, version]) => {
    const tested = imports[name]?.replace(/^npm:.+@/, "");
    return tested === version ? [] : [`${name} ${tested} -> ${version}`];
  });
}

/**
 * Replaces versions of packages in a text: `name@1.2.3`, `"name": "1.2.3"` and `"name": "^1.2.3"`.
 *
 * @param text The text.
 * @param newest The versions.
 */
export function replaceVersions(text: string, newest: Versions): string {
  let replaced = text;
  for (const [name, version] of Object.entries(newest)) {
    const before = new RegExp(`(["/:]${name}(?:@|": "\\^?))\\d[\\w.-]*`, "g");
    replaced = replaced.replace(before, (_match, prefix) => `${prefix}${version}`);
  }
  return replaced;
}

/**
 * Removes packages from a lock file. Deno keeps a locked peer even if a newer one is imported, and
 * would then load several copies of `@better-auth/core`, whose types do not fit each other.
 *
 * @param lock The lock file.
 * @param names The packages.
 */
export function removeLocked(lock: string, names: readonly string[]): string {
  const parsed = JSON.parse(lock) as Record<string, Record<string, unknown>>;
  const isKept = ([key]: [string, unknown]) =>
    !names.some((name) => key.replace(/^npm:/, "").startsWith(`${name}@`));
  for (const part of ["specifiers", "npm"]) {
    parsed[part] = Object.fromEntries(Object.entries(parsed[part]).filter(isKept));
  }
  return `${JSON.stringify(parsed, null, 2)}\n`;
}

async function findNewest(): Promise<Versions> {
  const newest: Record<string, string> = {};
  for (const name of FAMILY) newest[name] = await view(name, "version") as string;
  const pins = await view(`better-auth@${newest["better-auth"]}`, "dependencies") as Versions;
  for (const name of PINNED) newest[name] = pins[name];
  return newest;
}

async function view(name: string, field: string): Promise<unknown> {
  const { stdout } = await runOrThrow("npm", ["view", name, field, "--json"], { cwd: ROOT });
  return JSON.parse(stdout);
}

async function check(): Promise<void> {
  const { imports } = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`));
  let outdated: string[];
  try {
    outdated = findOutdated(imports, await findNewest());
  } catch {
    console.log("better-auth: the registry did not answer, so its newest version is unknown");
    return;
  }
  if (outdated.length === 0) return console.log("better-auth: the newest versions are tested");
  const message = `${outdated.join(", ")}: run deno task raise:better-auth`;
  console.log(`::warning title=better-auth is not the newest::${message}`);
}

async function raise(): Promise<void> {
  const newest = await findNewest();
  for (const file of ["deno.json", ...FILES]) {
    const path = `${ROOT}/${file}`;
    const text = await Deno.readTextFile(path);
    const replaced = replaceVersions(text, newest);
    if (replaced !== text) {
      console.log(`${file}: changed`);
      await Deno.writeTextFile(path, replaced);
    }
  }
  for (const [lock, args] of Object.entries(LOCKS)) {
    const text = await Deno.readTextFile(`${ROOT}/${lock}`);
    const family = [...new Set(text.match(/@better-auth\/[a-z-]+/g)), ...FAMILY, ...PINNED];
    await Deno.writeTextFile(`${ROOT}/${lock}`, removeLocked(text, family));
    await runOrThrow(Deno.execPath(), args, { cwd: ROOT });
  }
  console.log(Object.entries(newest).map((entry) => entry.join("@")).join("\n"));
  const args = ["test", "-A", "--no-check", "tests/auth"];
  const { code } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).spawn().status;
  Deno.exit(code);
}

if (import.meta.main) await (Deno.args.includes("--check") ? check() : raise());
