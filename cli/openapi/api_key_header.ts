import { readApiKeyHeaders } from "../analysis/api_key_headers.ts";
import type { Project } from "../analysis/project.ts";
import type { ts } from "../analysis/typescript.ts";
import type { Evaluator } from "../analysis/values.ts";

/**
 * Finds the header of API keys that a document names.
 *
 * @param files Absolute paths of the functions with API keys.
 * @param warn Reports code that cannot be resolved, and headers that differ.
 * @returns The first header; `undefined` if it is only known at run time.
 */
export function findApiKeyHeader(
  project: Project,
  evaluator: Evaluator,
  files: readonly string[],
  warn: (node: ts.Node, message: string) => void,
): string | undefined {
  const found = readApiKeyHeaders(project, evaluator, files, (node) => {
    warn(
      node,
      "apiKeyHeaders cannot be determined statically, so the document names x-api-key: use a literal value",
    );
  });
  const firsts = new Set(found.map(({ headers: [first] }) => first));
  if (firsts.size > 1) {
    warn(
      found.at(-1)!.call,
      "API keys have several headers, of which the document can name only one",
    );
  }
  return found[0]?.headers[0];
}
