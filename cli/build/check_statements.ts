import { ConfigurationError } from "../../errors/http_errors.ts";
import { BuildError } from "../sources/build_error.ts";
import { findSources } from "../sources/find_sources.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import { Findings } from "../project/findings.ts";
import { type FunctionFacts, loadFunctions, type LoadOptions } from "../project/load_functions.ts";
import { QueryRecords } from "../discovery/query_records.ts";
import { getModuleUrl } from "../project/module_url.ts";
import type { ManifestFacts, StatementFacts } from "./read_statements.ts";

/**
 * Builds every statement that the functions of a project use, so that no first call in production is
 * refused. The modules run without a database. Statements that a function declares when it is called
 * are not found. Those of queries are known if the project's tests have run them.
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
  const records = new QueryRecords(root);
  const named = new Map<string, Set<string | undefined>>();
  for (const { name, place } of loaded.flatMap((fn) => getFacts(fn).queries)) {
    named.set(name, (named.get(name) ?? new Set()).add(place));
  }
  for (const fn of loaded) {
    const { problems, queries, ...own } = getFacts(fn);
    refused.add(fn.name, problems);
    const statements = [...own.statements];
    const unchecked: string[] = [];
    for (const { name, place } of queries) {
      const found = named.get(name)!.size > 1
        ? { reason: "another query has its name: give one of them the option name" }
        : records.find(name, fn.inputs);
      if ("reason" in found) unchecked.push(`${name} (${place}): ${found.reason}`);
      else statements.push(...found.statements.map((sql) => ({ name, place, sql })));
    }
    read.set(fn.name, { statements, unchecked: [...unchecked, ...own.unchecked] });
  }
  const found = refused.list().map((finding) => formatDiagnostic(finding));
  if (found.length > 0) throw new ConfigurationError(found.join("\n"));
  const unread = loaded.find(({ error }) => error !== undefined);
  return { functions: read, ...unread && { warning: describeUnread(unread) } };
}

function getFacts({ facts }: FunctionFacts): StatementFacts {
  return facts?.[0] as StatementFacts | undefined ?? { ...NOTHING, queries: [], problems: [] };
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
