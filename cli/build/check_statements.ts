import { ConfigurationError } from "../../errors/http_errors.ts";
import { BuildError } from "../sources/build_error.ts";
import { findSources } from "../sources/find_sources.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import { Findings } from "../project/findings.ts";
import { type FunctionFacts, loadFunctions, type LoadOptions } from "../project/load_functions.ts";
import { getModuleUrl } from "../project/module_url.ts";
import type { ManifestFacts, StatementFacts } from "./read_statements.ts";

/**
 * Builds every statement that the functions of a project use, so that no first call in production is
 * refused. The modules run without a database. Statements that a function declares when it is called
 * are not found. The statements of this package that they use are recorded.
 *
 * @returns What each function sends to the database, by its name, and why some of it is not known.
 * @throws {ConfigurationError} If statements cannot be built for all values. It names their places.
 */
export async function checkStatements(
  { root, functions }: Pick<LoadOptions, "root" | "functions">,
): Promise<CheckedStatements> {
  const none = { functions: new Map(functions.map(({ name }) => [name, NOTHING])) };
  if (findSources(root, root, /\b(?:getDrizzleClient|define(?:Statement|Query)\()/).length === 0) {
    return none;
  }
  const readers = [getModuleUrl(import.meta.url, "./read_statements")];
  const loaded = await loadFunctions({ root, functions, readers }).catch((error: unknown) => {
    if (!(error instanceof ConfigurationError) && !(error instanceof BuildError)) throw error;
    return error;
  });
  if (loaded instanceof Error) {
    return { ...none, warning: `Statements cannot be checked: ${loaded.message}` };
  }
  const refused = new Findings();
  const read = new Map<string, ManifestFacts>();
  for (const { name, facts } of loaded) {
    const { problems, ...own } = facts?.[0] as StatementFacts | undefined ??
      { ...NOTHING, problems: [] };
    refused.add(name, problems);
    read.set(name, own);
  }
  const found = refused.list().map((finding) => formatDiagnostic(finding));
  if (found.length > 0) throw new ConfigurationError(found.join("\n"));
  const unread = loaded.find(({ error }) => error !== undefined);
  return { functions: read, ...unread && { warning: describeUnread(unread) } };
}

const NOTHING: ManifestFacts = { statements: [], unchecked: [] };

/** The statements of a project. */
export interface CheckedStatements {
  /** What each function sends to the database, by its name. */
  readonly functions: ReadonlyMap<string, ManifestFacts>;
  /** Why some statements are not known. */
  readonly warning?: string;
}

function describeUnread({ name, error }: FunctionFacts): string {
  return `The statements of ${name} cannot be checked: ${formatDiagnostic(error!)}`;
}
