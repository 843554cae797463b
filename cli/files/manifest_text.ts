import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { parseJsonc } from "./jsonc.ts";

/**
 * Finds a text in the manifest of a project: in deno.json, else deno.jsonc, else package.json.
 *
 * @param key `name`
 */
export function findManifestText(root: string, key: string): string | undefined {
  const files = ["deno.json", "deno.jsonc", "package.json"].map((name) => join(root, name));
  return files.filter((path) => existsSync(path)).map((path) => readManifest(path)?.[key]).find((
    value,
  ): value is string => typeof value === "string" && value !== "");
}

function readManifest(path: string): Record<string, unknown> | undefined {
  try {
    return parseJsonc(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw new ConfigurationError(`${path}: ${(cause as Error).message}`, { cause });
  }
}
