import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { parseEnv } from "node:util";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { getStamp } from "./file_stamps.ts";

/** Options of {@link createLocalEnvironment}. */
export interface LocalEnvironmentOptions {
  /** Absolute path of the project: `.env` is read there. */
  readonly root: string;
  /** Absolute path of the file that keeps generated secrets. */
  readonly secretsFile: string;
  /**
   * The environment that functions read.
   * @default process.env
   */
  readonly env?: Record<string, string | undefined>;
}

/** What the functions read from the environment. */
export interface LocalEnvironment {
  /** Reads `.env` again when it has changed; tells whether it had. What the shell has set stays. */
  refresh(): boolean;
  /** Sets what nobody has set. */
  provide(values: Readonly<Record<string, string | undefined>>): void;
  /** Sets what must be so whatever the shell says, and unsets what must not be. */
  override(values: Readonly<Record<string, string | undefined>>): void;
  /** Generates the secrets that sources require and nobody has set; the others that are missing are given back. */
  provideFor(files: Iterable<string>): string[];
  /** Sets `API_BEARER_TOKEN` for functions with auth `bearer`. */
  provideSecret(name: string): void;
  /** Names of the secrets that were generated. */
  generated(): string[];
  /** Puts the environment back. */
  restore(): void;
}

const REQUIRED = /\bgetRequiredEnv\(\s*["'`]([A-Za-z_][A-Za-z0-9_]*)["'`]/g;
const BEARER = /\bauth:\s*["'`]bearer["'`]/;
const SECRET =
  /(?:SECRET|TOKEN|PASSWORD|PEPPER|SALT|(?:API|SIGNING|ENCRYPTION|PRIVATE|HMAC|WEBHOOK|ACCESS)_?KEY)S?$/;

/**
 * Makes what functions read from the environment, in this order: what the shell has set, `.env`, what `trellis dev`
 * provides, secrets that are generated once and kept.
 *
 * @param options Where things are.
 * @returns The environment.
 */
export function createLocalEnvironment(options: LocalEnvironmentOptions): LocalEnvironment {
  const { root, secretsFile, env = process.env } = options;
  const file = join(root, ".env");
  const before = new Map<string, string | undefined>();
  const fromFile = new Set<string>();
  const generated = new Set<string>();
  let secrets: Record<string, string> | undefined;
  let stamp = "";

  function set(name: string, value: string): void {
    if (!before.has(name)) before.set(name, env[name]);
    env[name] = value;
  }

  function refresh(): boolean {
    const present = getStamp(file);
    if (present === stamp) return false;
    stamp = present;
    const values = present === "missing" ? {} : parseEnv(readFileSync(file, "utf8"));
    for (const name of fromFile) {
      if (values[name]) continue;
      fromFile.delete(name);
      delete env[name];
    }
    for (const [name, value] of Object.entries(values)) {
      if (!value || (env[name] && !fromFile.has(name))) continue;
      set(name, value);
      fromFile.add(name);
    }
    return true;
  }

  function provideSecret(name: string): void {
    if (env[name]) return;
    secrets ??= readSecrets(secretsFile);
    if (secrets[name] === undefined) {
      secrets[name] = randomBytes(32).toString("hex");
      writeSecrets(secretsFile, secrets);
    }
    generated.add(name);
    set(name, secrets[name]);
  }

  return {
    refresh,
    provideSecret,
    generated: () => [...generated].sort(),
    provide(values): void {
      for (const [name, value] of Object.entries(values)) {
        if (!env[name] && value !== undefined) set(name, value);
      }
    },
    override(values): void {
      for (const [name, value] of Object.entries(values)) {
        if (value !== undefined) set(name, value);
        else {
          if (!before.has(name)) before.set(name, env[name]);
          delete env[name];
        }
      }
    },
    provideFor(files): string[] {
      const missing = new Set<string>();
      for (const each of files) {
        const text = existsSync(each) ? readFileSync(each, "utf8") : "";
        for (const [, name] of text.matchAll(REQUIRED)) {
          if (env[name]) continue;
          if (SECRET.test(name)) provideSecret(name);
          else missing.add(name);
        }
        if (BEARER.test(text)) provideSecret("API_BEARER_TOKEN");
      }
      return [...missing].sort();
    },
    restore(): void {
      for (const [name, value] of before) {
        if (value === undefined) delete env[name];
        else env[name] = value;
      }
    },
  };
}

function readSecrets(file: string): Record<string, string> {
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new ConfigurationError(
      `${file} is no JSON: mend or delete it, and new secrets are made`,
      { cause },
    );
  }
}

function writeSecrets(file: string, secrets: Record<string, string>): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  // the mode of a file that was there stays otherwise
  chmodSync(file, 0o600);
}

/**
 * The project's name, for log lines and titles: that of deno.json or package.json, else its folder's.
 *
 * @param root Absolute path of the project.
 */
export function projectName(root: string): string {
  for (const file of ["deno.json", "package.json"]) {
    try {
      const { name } = JSON.parse(readFileSync(join(root, file), "utf8"));
      if (typeof name === "string" && name !== "") return name;
    } catch {
      // not there, or not ours to complain about
    }
  }
  return basename(root);
}
