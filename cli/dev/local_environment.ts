import process from "node:process";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { isSecretName, listRequiredVariables } from "../discovery/required_variables.ts";
import { findManifestText } from "../files/manifest_text.ts";
import { getStamp } from "../sources/file_stamps.ts";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseEnv } from "node:util";

/** Options of {@link LocalEnvironment}. */
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
  /**
   * Moves addresses of this project's own server to the port that it has: `--port` may differ from
   * the port that `.env` and the defaults in the sources name.
   */
  readonly ports?: MovedPort;
  /** Called with each variable whose port was changed, once. */
  readonly onMoved?: (name: string, value: string) => void;
}

const DEFAULTED =
  /\bgetOptionalEnv\(\s*["'`]([A-Za-z_][A-Za-z0-9_]*)["'`]\s*,\s*["'`]([^"'`\s]*)["'`]/g;

/**
 * The environment variables of the functions. Precedence: the shell, `.env`, values of
 * `trellis dev`, generated secrets (which are kept between runs).
 */
export class LocalEnvironment {
  readonly #file: string;
  readonly #secretsFile: string;
  readonly #env: Record<string, string | undefined>;
  readonly #before = new Map<string, string | undefined>();
  readonly #fromFile = new Set<string>();
  readonly #generated = new Set<string>();
  #secrets: Record<string, string> | undefined;
  #stamp = "";
  readonly #ports: MovedPort | undefined;
  readonly #onMoved: LocalEnvironmentOptions["onMoved"];
  readonly #moved = new Set<string>();

  constructor({ root, secretsFile, env = process.env, ports, onMoved }: LocalEnvironmentOptions) {
    this.#file = join(root, ".env");
    this.#secretsFile = secretsFile;
    this.#env = env;
    this.#ports = ports;
    this.#onMoved = onMoved;
  }

  #movePort(name: string, value: string): string {
    const moved = moveLocalPort(value, this.#ports);
    if (moved !== value && !this.#moved.has(name)) {
      this.#moved.add(name);
      this.#onMoved?.(name, moved);
    }
    return moved;
  }

  #set(name: string, value: string | undefined): void {
    if (!this.#before.has(name)) this.#before.set(name, this.#env[name]);
    if (value === undefined) delete this.#env[name];
    else this.#env[name] = value;
  }

  /**
   * Rereads `.env` if it has changed and returns true in that case. Variables of the shell take
   * precedence.
   */
  refresh(): boolean {
    const stamp = getStamp(this.#file);
    if (stamp === this.#stamp) return false;
    this.#stamp = stamp;
    const values = stamp === "missing" ? {} : parseEnv(readFileSync(this.#file, "utf8"));
    for (const name of this.#fromFile) {
      if (values[name]) continue;
      this.#fromFile.delete(name);
      delete this.#env[name];
    }
    for (const [name, value] of Object.entries(values)) {
      if (!value || (this.#env[name] && !this.#fromFile.has(name))) continue;
      this.#set(name, this.#movePort(name, value));
      this.#fromFile.add(name);
    }
    return true;
  }

  /** Sets variables that are not set yet. */
  provide(values: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(values)) {
      if (!this.#env[name] && value !== undefined) this.#set(name, value);
    }
  }

  /** Sets variables, even if the shell has set them; `undefined` unsets a variable. */
  override(values: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(values)) this.#set(name, value);
  }

  /**
   * Generates missing secrets that the sources require; returns the names of all other missing
   * variables.
   */
  provideFor(files: Iterable<string>): string[] {
    const missing = new Set<string>();
    for (const file of files) {
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      for (const name of listRequiredVariables(text)) {
        if (this.#env[name]) continue;
        if (isSecretName(name)) this.provideSecret(name);
        else missing.add(name);
      }
      for (const [, name, value] of text.matchAll(DEFAULTED)) {
        if (this.#env[name]) continue;
        const moved = this.#movePort(name, value);
        if (moved !== value) this.#set(name, moved);
      }
    }
    return [...missing].sort();
  }

  /** Generates a secret that is kept between runs, unless the variable is set. */
  provideSecret(name: string): void {
    if (this.#env[name]) return;
    this.#secrets ??= readSecrets(this.#secretsFile);
    if (this.#secrets[name] === undefined) {
      this.#secrets[name] = randomBytes(32).toString("hex");
      writeSecrets(this.#secretsFile, this.#secrets);
    }
    this.#generated.add(name);
    this.#set(name, this.#secrets[name]);
  }

  /** Returns the names of the generated secrets. */
  generated(): string[] {
    return [...this.#generated].sort();
  }

  /** Restores the original environment. */
  restore(): void {
    for (const [name, value] of this.#before) {
      if (value === undefined) delete this.#env[name];
      else this.#env[name] = value;
    }
  }
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
 */
export function getProjectName(root: string): string {
  return findManifestText(root, "name") ?? basename(root);
}

/** The port in a project's addresses, and the actual port of its server. */
interface MovedPort {
  readonly from: number;
  readonly to: number;
}

const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Replaces the port of local addresses. Other values, and addresses with another port, stay.
 *
 * @param value An address, or several that are separated by commas.
 * @param ports The ports; omitted to change nothing.
 */
function moveLocalPort(value: string, ports: MovedPort | undefined): string {
  if (ports === undefined || ports.from === ports.to) return value;
  return value.split(",").map((address) => moveAddress(address, ports)).join(",");
}

function moveAddress(address: string, { from, to }: MovedPort): string {
  if (!URL.canParse(address)) return address;
  const { protocol, hostname, port } = new URL(address);
  const isOwn = /^(?:https?|wss?):$/.test(protocol) && LOCAL_HOSTS.includes(hostname) &&
    port === String(from);
  return isOwn ? address.replace(`:${from}`, `:${to}`) : address;
}
