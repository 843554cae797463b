import { ConfigurationError } from "../../errors/http_errors.ts";
import { BuildError } from "../sources/build_error.ts";
import { findSources } from "../sources/find_sources.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import { Findings } from "../project/findings.ts";
import { type FunctionFacts, loadFunctions, type LoadOptions } from "../project/load_functions.ts";
import { getModuleUrl } from "../project/module_url.ts";
import type { read } from "./read_statements.ts";

/**
 * Builds every statement that the functions of a project use, so that no first call in production is
 * refused. The modules run without a database. Statements that a function declares when it is called
 * are not found.
 *
 * @returns Why the statements cannot be checked; `undefined` if they were, or there are none.
 * @throws {ConfigurationError} If statements cannot be built for all values. It names their places.
 */
export async function checkStatements(
  { root, functions }: Pick<LoadOptions, "root" | "functions">,
): Promise<string | undefined> {
  if (findSources(root, root, /\bdefineStatement\(/).length === 0) return undefined;
  const readers = [getModuleUrl(import.meta.url, "./read_statements")];
  const loaded = await loadFunctions({ root, functions, readers }).catch((error: unknown) => {
    if (!(error instanceof ConfigurationError) && !(error instanceof BuildError)) throw error;
    return error;
  });
  if (loaded instanceof Error) return `Statements cannot be checked: ${loaded.message}`;
  const refused = new Findings();
  for (const { name, facts = [[]] } of loaded) {
    refused.add(name, facts[0] as ReturnType<typeof read>);
  }
  const found = refused.list().map((finding) => formatDiagnostic(finding));
  if (found.length > 0) throw new ConfigurationError(found.join("\n"));
  const unread = loaded.find(({ error }) => error !== undefined);
  return unread && describeUnread(unread);
}

function describeUnread({ name, error }: FunctionFacts): string {
  return `The statements of ${name} cannot be checked: ${formatDiagnostic(error!)}`;
}
