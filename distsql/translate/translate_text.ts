import { type CommentedKey, findCommentedKeys } from "../../sql/commented_keys.ts";
import type { RecreationRequiredError, UnsupportedStatementError } from "./context/errors.ts";
import type { DeclaredSchema } from "../schema/declared_schema.ts";
import { type DistSqlOptions, resolveOptions } from "./context/options.ts";
import { readName } from "../../sql/sql_name.ts";
import { splitStatements, type SqlStatement } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { readTransactionControl } from "../../sql/transaction_blocks.ts";
import { translateStatement } from "./translate_statement.ts";
import {
  type DistSqlStep,
  type DistSqlWarning,
  StatementTranslation,
  type TextScope,
} from "./context/translation.ts";

/** Translated statement of a text. */
export interface TranslatedStatement {
  /** Original statement. */
  readonly source: SqlStatement;
  /** Steps to run; none of them may be run if there is a refusal. */
  readonly steps: readonly DistSqlStep[];
  /** Differences in behavior. */
  readonly warnings: readonly DistSqlWarning[];
  /** Errors. */
  readonly refusals: readonly (UnsupportedStatementError | RecreationRequiredError)[];
  /** Registry entries that applied. */
  readonly rules: readonly string[];
  /** Kind of statement with the name of its object: `ALTER TABLE notes`. */
  readonly subject: string;
  /** Table of the statement. */
  readonly table: string | undefined;
  /** Declarations before the statement. */
  readonly before: DeclaredSchema;
}

/** Text whose statements are translated one by one. */
export interface TranslatedText {
  /** One entry per statement, in order. */
  readonly statements: readonly TranslatedStatement[];
  /** Declarations of the text and the options. */
  readonly scope: TextScope;
}

/**
 * Translates the statements of a text, each with its own steps, warnings and refusals.
 *
 * @param sql SQL of PostgreSQL or of the provider.
 * @param options Translation options, and declarations of earlier texts.
 * @returns One entry per statement.
 * @throws {ConfigurationError} If an option has an unknown value or an invalid date.
 */
export function translateStatements(sql: string, options: DistSqlOptions = {}): TranslatedText {
  const sources = splitStatements(sql);
  const readers = sources.map(({ tokens }) => new StatementReader(tokens));
  const scope = createScope(readers, options);
  const statements = sources.map((source, at): TranslatedStatement => {
    const t = new StatementTranslation(scope);
    translateStatement(readers[at], t);
    const { steps, warnings, refusals, subject, table, before } = t;
    return { source, steps, warnings, refusals, rules: [...t.rules], subject, table, before };
  });
  const commented = findCommentedKeys(sql).map((key) => refuseCommentedKey(key, scope));
  const inOrder = [...statements, ...commented].sort((a, b) => a.source.start - b.source.start);
  return { statements: commented.length === 0 ? statements : inOrder, scope };
}

/** Rejects a statement in a comment, which must not be ignored. */
function refuseCommentedKey(
  { start, text, table }: CommentedKey,
  scope: TextScope,
): TranslatedStatement {
  const t = new StatementTranslation(scope);
  t.kind = "ALTER TABLE";
  t.table = table;
  t.refuse("primary-key-commented");
  const { refusals, rules, subject, before } = t;
  const source = { text, start, tokens: [] };
  return { source, steps: [], warnings: [], refusals, rules: [...rules], subject, table, before };
}

function createScope(
  readers: readonly StatementReader[],
  options: DistSqlOptions,
): TextScope {
  const resolved = resolveOptions(options);
  return {
    options: resolved,
    declared: resolved.declared,
    names: new Map(),
    statementCount: readers.length,
    validated: findValidated(readers),
    transactionRefusals: findTransactionRefusals(readers),
  };
}

/** Collects the constraints that statements validate, by name. */
function findValidated(readers: readonly StatementReader[]): Set<string> {
  const names = new Set<string>();
  for (const reader of readers) {
    if (!reader.is(0, "ALTER", "TABLE")) continue;
    for (let at = 2; at < reader.size; at++) {
      if (reader.is(at, "VALIDATE", "CONSTRAINT")) names.add(readName(reader, at + 2).name);
    }
  }
  return names;
}

function findTransactionRefusals(
  readers: readonly StatementReader[],
): TextScope["transactionRefusals"] {
  const { refusals } = readTransactionControl(readers);
  return new Map([...refusals].map(([place, id]) => [readers[place].tokens, id]));
}
