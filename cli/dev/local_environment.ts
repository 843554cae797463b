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
  /** Absolute path of the file for generated secrets. */
  readonly secretsFile: string;
  /**
   * The environment to change.
   *
   * @default process.env
   */
  readonly env?: Record<string, string | undefined>;
}

/** The environment variables of the functions. */
export interface LocalEnvironment {
  /**
   * Rereads `.env` if it has changed and returns true in that case. Variables of the shell take
   * precedence.
   */
  refresh(): boolean;
  /** Sets variables that are not set yet. */
  provide(values: Readonly<Record<string, string | undefined>>): void;
  /** Sets variables, even if the shell has set them; `undefined` unsets a variable. */
  override(values: Readonly<Record<string, string | undefined>>): void;
  /**
   * Generates missing secrets that the sources require; returns the names of all other missing
   * variables.
   */
  provideFor(files: Iterable<string>): string[];
  /** Generates `API_BEARER_TOKEN` for functions with auth `bearer`. */
  provideSecret(name: string): void;
  /** Returns the names of the generated secrets. */
  generated(): string[];
  /** Restores the original environment. */
  restore(): void;
}

const REQUIRED = /\bgetRequiredEnv\(\s*["'`]([A-Za-z_][A-Za-z0-9_]*)["'`]/g;
const BEARER = /\bauth:\s*["'`]bearer["'`]/;
const SECRET =
  /(?:SECRET|TOKEN|PASSWORD|PEPPER|SALT|(?:API|SIGNING|ENCRYPTION|PRIVATE|HMAC|WEBHOOK|ACCESS)_?KEY)S?$/;

/**
 * Creates the environment of the functions. Precedence: the shell, `.env`, values of `trellis dev`,
 * generated secrets (which are kept between runs).
 *
 * @param options Paths and environment.
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
      `${file} is not valid JSON: fix it, or delete it to generate new secrets`,
      { cause },
    );
  }
}

function writeSecrets(file: string, secrets: Record<string, string>): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  // writeFileSync does not change the mode of an existing file
  chmodSync(file, 0o600);
}

/**
 * Returns the project's name for log lines and titles: from deno.json or package.json, else the
 * folder's name.
 *
 * @param root Absolute path of the project.
 */
export function getProjectName(root: string): string {
  for (const file of ["deno.json", "package.json"]) {
    try {
      const { name } = JSON.parse(readFileSync(join(root, file), "utf8"));
      if (typeof name === "string" && name !== "") return name;
    } catch {
      // a missing or invalid file is not an error here
    }
  }
  return basename(root);
}
