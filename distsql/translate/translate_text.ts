import { type CommentedKey, findCommentedKeys } from "../../sql/commented_keys.ts";
import type { RecreationRequiredError, UnsupportedStatementError } from "./errors.ts";
import {
  type DeclaredSchema,
  DEFAULT_SCHEMA,
  getKey,
  withEntry,
} from "../schema/declared_schema.ts";
import { readObject } from "../schema/read_object.ts";
import { type DistSqlOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
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
} from "./translation.ts";

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
  const scope = createScope(sources, options);
  const statements = sources.map((source): TranslatedStatement => {
    const t = new StatementTranslation(scope);
    translateStatement(new StatementReader(source.tokens), t);
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

function createScope(sources: readonly SqlStatement[], options: DistSqlOptions): TextScope {
  const resolved = resolveOptions(options);
  return {
    options: resolved,
    domains: new Set(resolved.domains),
    declared: declareEnums(resolved),
    droppedSequences: findDroppedSequences(sources),
    goneSequences: new Set(),
    names: new Map(),
    statementCount: sources.length,
    ...lookAhead(sources),
  };
}

/** Adds the enums for which the caller only gives labels. */
function declareEnums({ declared, enumLabels }: ResolvedOptions): DeclaredSchema {
  let { enums } = declared;
  for (const [path, labels] of Object.entries(enumLabels)) {
    const dot = path.indexOf(".");
    const name = {
      schema: dot < 0 ? DEFAULT_SCHEMA : path.slice(0, dot),
      name: path.slice(dot + 1),
    };
    if (!enums.has(getKey(name))) enums = withEntry(enums, { ...name, labels });
  }
  return { ...declared, enums };
}

/** Returns the declarations of a text, for the options of later texts. */
export function getDeclarations(
  scope: TextScope,
): Required<Pick<DistSqlOptions, "enumLabels" | "domains" | "declared">> {
  return {
    enumLabels: labelsByName(scope.declared),
    domains: [...scope.domains],
    declared: scope.declared,
  };
}

/**
 * Returns the labels of the enums by their qualified names, and for `public` also by their
 * unqualified ones.
 */
function labelsByName({ enums }: DeclaredSchema): Record<string, readonly string[]> {
  const entries = [...enums.values()].flatMap(({ schema, name, labels }) =>
    schema === DEFAULT_SCHEMA
      ? [[`${schema}.${name}`, labels], [name, labels]]
      : [[`${schema}.${name}`, labels]]
  );
  return Object.fromEntries(entries);
}

/** Finds sequences that a statement drops and that no other statement names. */
function findDroppedSequences(sources: readonly SqlStatement[]): Set<string> {
  const dropped = new Set<string>();
  for (const { text, tokens } of sources) {
    if (!/drop\s+sequence/i.test(text)) continue;
    const reader = new StatementReader(tokens);
    if (!reader.is(0, "DROP", "SEQUENCE")) continue;
    for (const [at] of reader.list(reader.skip(2, "IF", "EXISTS"), reader.size)) {
      const { name } = readObject(reader, at);
      const isNamed = sources.some((source) =>
        source.text !== text && source.text.toLowerCase().includes(name.toLowerCase())
      );
      if (!isNamed) dropped.add(name);
    }
  }
  return dropped;
}

/** Collects facts from later statements of the text; only relevant statements are parsed for it. */
function lookAhead(
  sources: readonly SqlStatement[],
): Pick<TextScope, "validated" | "transactionRefusals"> {
  const validated = new Set<string>();
  for (const { text, tokens } of sources) {
    if (/validate/i.test(text)) collectValidated(new StatementReader(tokens), validated);
  }
  return { validated, transactionRefusals: findTransactionRefusals(sources) };
}

const TRANSACTION_WORDS = /begin|start|commit|end|rollback|abort|savepoint|release|prepare/i;

function findTransactionRefusals(
  sources: readonly SqlStatement[],
): TextScope["transactionRefusals"] {
  const readers = sources.flatMap(({ text, tokens }) =>
    TRANSACTION_WORDS.test(text) ? new StatementReader(tokens) : []
  );
  const { refusals } = readTransactionControl(readers);
  return new Map([...refusals].map(([place, id]) => [readers[place].tokens, id]));
}

/** Collects the constraints that a statement validates, by name. */
function collectValidated(reader: StatementReader, names: Set<string>): void {
  if (!reader.is(0, "ALTER", "TABLE")) return;
  for (let at = 2; at < reader.size; at++) {
    if (reader.is(at, "VALIDATE", "CONSTRAINT")) names.add(readName(reader, at + 2).name);
  }
}
