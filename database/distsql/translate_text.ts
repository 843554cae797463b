import { type CommentedKey, findCommentedKeys } from "./commented_keys.ts";
import type { RecreationRequiredError, UnsupportedStatementError } from "./errors.ts";
import {
  type DeclaredSchema,
  DEFAULT_SCHEMA,
  getKey,
  withEntry,
} from "./declared/declared_schema.ts";
import { readObject } from "./declared/read_object.ts";
import { type DistSqlOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { readName } from "./sql_name.ts";
import { splitStatements, type SqlStatement } from "./statement.ts";
import { StatementReader } from "./statement_reader.ts";
import { readTransactionControl } from "./transaction_blocks.ts";
import { translateStatement } from "./translate_statement.ts";
import {
  type DistSqlStep,
  type DistSqlWarning,
  StatementTranslation,
  type TextScope,
} from "./translation.ts";

/** One statement of a text, translated. */
export interface TranslatedStatement {
  /** The statement as written. */
  readonly source: SqlStatement;
  /** What to run; nothing of it may be run when there is a refusal. */
  readonly steps: readonly DistSqlStep[];
  /** What behaves differently afterwards. */
  readonly warnings: readonly DistSqlWarning[];
  /** What stands in the way. */
  readonly refusals: readonly (UnsupportedStatementError | RecreationRequiredError)[];
  /** The registry's entries that applied. */
  readonly rules: readonly string[];
  /** The kind of statement with the name of what it is about: `ALTER TABLE notes`. */
  readonly subject: string;
  /** The table that the statement is about. */
  readonly table: string | undefined;
  /** What the statements before it declare. */
  readonly before: DeclaredSchema;
}

/** The statements of a text, translated one by one. */
export interface TranslatedText {
  /** One entry for each statement, in order. */
  readonly statements: readonly TranslatedStatement[];
  /** What the text and the options declare. */
  readonly scope: TextScope;
}

/**
 * Translates the statements of a text, each with its own steps, warnings and refusals.
 *
 * @param sql SQL of PostgreSQL, or of the provider already.
 * @param options The choices of the translation, and what earlier texts declare.
 * @returns One entry for each statement.
 * @throws {ConfigurationError} When an option has a value that the provider or the calendar does not know.
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

/** A statement in a comment is refused like one that is written out: it must not be passed over. */
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

/** Adds the enums of which the caller gives the labels alone. */
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

/** What a text declares, for the options of later texts. */
export function getDeclarations(
  scope: TextScope,
): Required<Pick<DistSqlOptions, "enumLabels" | "domains" | "declared">> {
  return {
    enumLabels: labelsByName(scope.declared),
    domains: [...scope.domains],
    declared: scope.declared,
  };
}

/** The labels of the enums, under their qualified names and those of `public` also without. */
function labelsByName({ enums }: DeclaredSchema): Record<string, readonly string[]> {
  const entries = [...enums.values()].flatMap(({ schema, name, labels }) =>
    schema === DEFAULT_SCHEMA
      ? [[`${schema}.${name}`, labels], [name, labels]]
      : [[`${schema}.${name}`, labels]]
  );
  return Object.fromEntries(entries);
}

/** Finds sequences that one statement drops and no other statement names. */
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

/** What statements elsewhere in the text decide; only what may say so is read for it. */
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

/** The constraints that a statement validates, by name. */
function collectValidated(reader: StatementReader, names: Set<string>): void {
  if (!reader.is(0, "ALTER", "TABLE")) return;
  for (let at = 2; at < reader.size; at++) {
    if (reader.is(at, "VALIDATE", "CONSTRAINT")) names.add(readName(reader, at + 2).name);
  }
}
