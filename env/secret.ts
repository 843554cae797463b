import { getRequiredEnv } from "./get_env.ts";
import { loadSource } from "./sources.ts";
import { record } from "./recording.ts";

/** A secret that is read when it is needed. Printing or serialising it never shows its value. */
export interface Secret {
  /** The variable's name. */
  readonly name: string;
  /**
   * Returns the value, read again when it is older than the time limit of `loadSources`.
   *
   * @param options With `fresh: true` the source is read now, at most every ten seconds: use it
   * after another service has refused the value, because it may have been rotated.
   */
  get(options?: SecretReadOptions): Promise<string>;
  /** Returns `[REDACTED]`. */
  toJSON(): string;
}

/** Options of {@link Secret.get}. */
export interface SecretReadOptions {
  /**
   * Reads the source even if the known value is not too old.
   * @default false
   */
  fresh?: boolean;
}

/** Options of {@link secret}. */
export interface SecretOptions {
  /**
   * True for a secret that can be any random text, because only functions of this project know it:
   * `trellis deploy --generate-secrets` puts 32 random bytes in hexadecimal. `trellis generate infra`
   * reads it from the code, so it must be a literal.
   * @default false
   */
  generate?: boolean;
}

/**
 * Declares a secret of the environment that is read on use. If the variable `<name>_SOURCE` names a
 * secret of AWS Secrets Manager or a parameter of SSM, the value is read from there and kept for the
 * time limit of `loadSources`; otherwise it is the value of the variable.
 *
 * @param name The variable's name.
 * @param options Whether it can be any random text.
 * @returns The secret. Nothing is read until `get` is called.
 *
 * @example
 * ```ts
 * import { secret } from "@trellis/fn/env";
 * import process from "node:process";
 *
 * process.env.EXAMPLE_API_KEY = "k-123"; // deployed: EXAMPLE_API_KEY_SOURCE
 * const apiKey = secret("EXAMPLE_API_KEY");
 * console.log((await apiKey.get()).length, JSON.stringify(apiKey)); // 5 "[REDACTED]"
 * ```
 */
export function secret(name: string, options: SecretOptions = {}): Secret {
  return record(
    "secret",
    [name, options],
    Object.freeze({
      name,
      async get({ fresh = false }: SecretReadOptions = {}): Promise<string> {
        await loadSource(name, fresh);
        return getRequiredEnv(name);
      },
      toJSON: () => "[REDACTED]",
    }),
  );
}
