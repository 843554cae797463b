import type { DeclaredStatement } from "../../database/queries/define_statement.ts";
import { createBuilder, isUsedQuery } from "../grants/query_needs.ts";
import type { Problem } from "../project/findings.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { readOwnStatements } from "./own_statements.ts";

/** Statement of a function. */
export interface ManifestStatement {
  /** `findNote`; of this package `jobs: enqueue of a job (src/jobs/index_note.ts)` */
  readonly name: string;
  /** `src/queries/notes.ts:12`; missing for a statement of this package. */
  readonly place?: string;
  /** Its text with `$1` for the first parameter. */
  readonly sql: string;
}

/** What a function sends to the database. */
export interface ManifestFacts {
  /** Its declared statements, those of its queries that tests have run, and those of this package. */
  readonly statements: readonly ManifestStatement[];
  /** Queries, and uses of this package, whose SQL is not known: `listNotes (src/queries/notes.ts:12): no test has run it`. */
  readonly unchecked: readonly string[];
}

/** What is read of a function. */
export interface StatementFacts extends ManifestFacts {
  /** Its queries, whose SQL is only known when they run. */
  readonly queries: readonly Omit<ManifestStatement, "sql">[];
  /** Statements that cannot be built for all values. */
  readonly problems: readonly Problem[];
}

/** Builds the statements that a function uses. */
export async function read(fn: LoadedFunction): Promise<StatementFacts> {
  const builder = createBuilder();
  const problems: Problem[] = [];
  const statements: ManifestStatement[] = [];
  for (const definition of fn.list("defineStatement")) {
    const { args, place } = definition;
    if (!isUsedQuery(fn, definition)) continue;
    try {
      const { sql } = (args[3] as DeclaredStatement).buildOn(builder).query.getQuery();
      statements.push({ name: String(args[0]), place: `${place.file}:${place.line}`, sql });
    } catch (error) {
      problems.push({ place, message: (error as Error).message });
    }
  }
  const queries = fn.list("defineQuery").filter((definition) => isUsedQuery(fn, definition))
    .map(({ value, place }) => ({
      name: (value as { queryName: string }).queryName,
      place: `${place.file}:${place.line}`,
    }));
  const own = await readOwnStatements(fn);
  return {
    problems,
    statements: [...statements, ...own.statements],
    queries,
    unchecked: own.unchecked.map((use) => `${use}: its SQL is only known when it runs`),
  };
}
