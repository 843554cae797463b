import {
  type DeclaredSchema,
  type DeclaredTable,
  type DeclaredView,
  findObject,
} from "../../schema/declared_schema.ts";
import { readObject, readPart } from "../../schema/read_object.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { RESERVED } from "./keywords.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/** Table or view of a statement. */
export type Relation = DeclaredTable | DeclaredView;

/** Names in a statement that determine which column a name refers to. */
export interface StatementNames {
  /** Relations by the name that qualifies their columns. */
  readonly relations: ReadonlyMap<string, readonly Relation[]>;
  /** Ends of the expressions that an output name refers to. */
  readonly aliases: ReadonlyMap<string, readonly number[]>;
  /** Names in the lists of `AS name (a, b)` and `WITH name (a, b)`. */
  readonly listed: ReadonlySet<string>;
  /** True if there are undeclared relations, such as functions. */
  readonly hasUnknown: boolean;
}

/** Keywords and symbols before a relation. */
const BEFORE_RELATION: ReadonlySet<string> = keywordSet(
  "FROM JOIN UPDATE INTO USING ONLY LATERAL TABLE , (",
);

function isKeyword(reader: StatementReader, at: number): boolean {
  return reader.token(at)?.kind === "word" && reader.isOneOf(at, RESERVED);
}

/** Checks whether an operand may end before a position, so that a name there is an alias. */
function followsOperand(reader: StatementReader, at: number): boolean {
  const kind = reader.token(at - 1)?.kind;
  if (reader.is(at - 1, "END") || reader.is(at - 1, ")") || reader.is(at - 1, "]")) return true;
  return kind === "string" || kind === "number" ||
    (reader.isName(at - 1) && !isKeyword(reader, at - 1));
}

/**
 * Reads the relations and output names of a statement.
 *
 * @param reader The statement.
 * @param state The declarations.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 */
export function readNames(
  reader: StatementReader,
  state: DeclaredSchema,
  table?: DeclaredTable,
): StatementNames {
  const relations = new Map<string, Relation[]>();
  const aliases = new Map<string, number[]>();
  const listed = new Set<string>();
  let hasUnknown = false;
  // a definition has no output names, and a column may have the name of its type
  if (table) return { relations: new Map([[table.name, [table]]]), aliases, listed, hasUnknown };

  function addRelation(at: number): void {
    const written = readObject(reader, at);
    const found = findObject(state.tables, written) ?? findObject(state.views, written);
    const isCall = reader.key(written.end) === "(" && !reader.is(at - 1, "INTO");
    if (found === undefined || isCall) {
      hasUnknown ||= reader.is(at - 1, "FROM") || reader.is(at - 1, "JOIN");
      return;
    }
    const as = reader.skip(written.end, "AS");
    const name = reader.isName(as) && !isKeyword(reader, as) ? readPart(reader, as) : written.name;
    relations.set(name, [...relations.get(name) ?? [], found]);
    if (reader.is(at - 1, "INTO")) relations.set("excluded", [found]);
  }

  function addAlias(at: number): void {
    const hasAs = reader.is(at - 1, "AS");
    if (!hasAs && !followsOperand(reader, at)) return;
    const name = readPart(reader, at);
    aliases.set(name, [...aliases.get(name) ?? [], hasAs ? at - 1 : at]);
    if (hasAs || reader.is(at - 1, ")")) addListed(at + 1);
  }

  function addListed(open: number): void {
    if (reader.key(open) !== "(") return;
    for (const [from] of reader.listIn(open)) listed.add(readPart(reader, from));
  }

  for (let at = 0; at < reader.size; at++) {
    if (!reader.isName(at) || isKeyword(reader, at)) continue;
    if (reader.is(at - 1, "WITH") || reader.is(at - 1, "RECURSIVE")) addListed(at + 1);
    if (reader.isOneOf(at - 1, BEFORE_RELATION)) addRelation(at);
    if (reader.key(at + 1) !== "." && reader.key(at - 1) !== ".") addAlias(at);
  }
  return { relations, aliases, listed, hasUnknown };
}
