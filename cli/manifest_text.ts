import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ts } from "./analysis/typescript.ts";

/**
 * Finds a text in the manifest of a project: in deno.json, else deno.jsonc, else package.json.
 *
 * @param key `name`
 */
export function findManifestText(root: string, key: string): string | undefined {
  const files = ["deno.json", "deno.jsonc", "package.json"].map((name) => join(root, name));
  return files.filter((path) => existsSync(path)).map((path) =>
    ts.parseConfigFileTextToJson(path, readFileSync(path, "utf8")).config?.[key]
  ).find((value) => typeof value === "string" && value !== "");
}
