import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { getDocumentFormat } from "../openapi/document_format.ts";
import { runProgram } from "../programs/run_program.ts";
import type { Json } from "./schema_view.ts";

/**
 * Reads another version of the project's document.
 *
 * @param against A file, or a commit, branch or tag of git.
 * @param file The document within the project, for git.
 * @throws {ConfigurationError} If there is no such version, or it is no OpenAPI document.
 */
export async function readVersion(root: string, against: string, file: string): Promise<Json> {
  const path = resolve(root, against);
  const isFile = existsSync(path);
  const text = isFile ? readFileSync(path, "utf8") : await readFromGit(root, against, file);
  const document = (await getDocumentFormat(isFile ? path : file)).parse(text);
  if (typeof document?.openapi === "string" && typeof document.paths === "object") return document;
  throw new ConfigurationError(`${isFile ? path : `${against}:${file}`} is no OpenAPI document`);
}

async function readFromGit(root: string, reference: string, file: string): Promise<string> {
  // resolved first: a reference cannot be taken for an option
  const commit = await runGit(root, [
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${reference}^{commit}`,
  ]);
  const text = commit && await runGit(root, ["show", `${commit.trim()}:./${file}`]);
  if (text !== undefined) return text;
  throw new ConfigurationError(
    `${JSON.stringify(reference)} is neither a file nor a version of git that contains ${file}`,
  );
}

async function runGit(root: string, args: readonly string[]): Promise<string | undefined> {
  const { exitCode, stdout } = await runProgram("git", args, { cwd: root });
  return exitCode === 0 ? stdout : undefined;
}
