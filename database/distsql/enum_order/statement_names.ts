import { type DeclaredSchema, type DeclaredTable, type DeclaredView, findObject } from "../declared/declared_schema.ts";
import { readObject, readPart } from "../declared/read_object.ts";
import type { StatementReader } from "../statement_reader.ts";
import { type EnumClass, mergeClasses, NO_ENUM } from "./enum_class.ts";
import { endsOperand, RESERVED } from "./keywords.ts";

/** A table or a view of a statement. */
type Relation = DeclaredTable | DeclaredView;

/** Words and symbols after which a relation may stand. */
const BEFORE_RELATION: ReadonlySet<string> = new Set([
  ...["FROM", "JOIN", "UPDATE", "INTO", "USING", "ONLY", "LATERAL", "TABLE", ",", "("],
]);

function isView(relation: Relation): relation is DeclaredView {
  return "sources" in relation;
}

/** What a column of a relation is. */
export function classOfColumn(state: DeclaredSchema, relation: Relation, name: string): EnumClass | undefined {
  if (isView(relation)) {
    if (relation.columns === undefined) return undefined;
    const column = relation.columns.find((one) => one.name === name);
    if (column === undefined) return undefined;
    const types = column.enums.flatMap((key) => state.enums.get(key) ?? []);
    if (types.length === 0) return NO_ENUM;
    return column.isCertain && types.length === 1 ? { is: "enum", type: types[0] } : { is: "maybe", types };
  }
  const column = relation.columns.find((one) => one.name === name);
  if (column === undefined) return undefined;
  const type = column.enum === undefined ? undefined : state.enums.get(column.enum);
  if (type === undefined) return NO_ENUM;
  return column.isArray ? { is: "maybe", types: [type] } : { is: "enum", type };
}

/** Tells for the names in a statement whether they are columns of an enum. */
export class StatementNames {
  readonly #reader: StatementReader;
  readonly #state: DeclaredSchema;
  /** The relations by the name that qualifies their columns. */
  readonly #relations: Map<string, Relation[]> = new Map();
  /** Where the expression ends that an output name stands for. */
  readonly #aliases: Map<string, number[]> = new Map();
  /** Names in the lists of `AS name (a, b)` and `WITH name (a, b)`. */
  readonly #listed: Set<string> = new Set();
  /** Whether a relation is unknown: a table that is not declared, or a function. */
  #hasUnknown = false;
  #busy = 0;

  /**
   * @param reader The statement.
   * @param state What is declared.
   * @param table The table whose columns its expressions name, for CREATE TABLE and the like.
   */
  constructor(reader: StatementReader, state: DeclaredSchema, table?: DeclaredTable) {
    this.#reader = reader;
    this.#state = state;
    if (table) this.#relations.set(table.name, [table]);
    for (let at = 0; at < reader.size; at++) {
      this.#readRelation(at);
      this.#readAlias(at);
    }
  }

  /** The tables and views that the statement names. */
  get relations(): readonly Relation[] {
    return [...new Set([...this.#relations.values()].flat())];
  }

  /** The name of a relation or of an alias that stands at a position. */
  #readRelation(at: number): void {
    const reader = this.#reader;
    if (!reader.isOneOf(at - 1, BEFORE_RELATION) || !reader.isName(at)) return;
    if (reader.token(at)?.kind === "word" && reader.isOneOf(at, RESERVED)) return;
    const written = readObject(reader, at);
    const found = findObject(this.#state.tables, written) ?? findObject(this.#state.views, written);
    const isCall = reader.key(written.end) === "(" && !reader.is(at - 1, "INTO");
    if (found === undefined || isCall) {
      const isSource = reader.is(at - 1, "FROM") || reader.is(at - 1, "JOIN");
      if (isSource) this.#hasUnknown = true;
      return;
    }
    const as = reader.skip(written.end, "AS");
    const hasAlias = reader.isName(as) && !(reader.token(as)?.kind === "word" && reader.isOneOf(as, RESERVED));
    const name = hasAlias ? readPart(reader, as) : written.name;
    this.#relations.set(name, [...this.#relations.get(name) ?? [], found]);
    if (reader.is(at - 1, "INTO")) this.#relations.set("excluded", [found]);
  }

  /** `expression AS name`, `expression name`, and the lists of `AS name (a, b)`. */
  #readAlias(at: number): void {
    const reader = this.#reader;
    if (!reader.isName(at) || reader.key(at + 1) === ".") return;
    const isWord = reader.token(at)?.kind === "word";
    if (isWord && reader.isOneOf(at, RESERVED)) return;
    const hasAs = reader.is(at - 1, "AS");
    const follows = reader.isName(at - 1) || reader.is(at - 1, ")") || reader.is(at - 1, "]") ||
      reader.token(at - 1)?.kind === "string" || reader.token(at - 1)?.kind === "number";
    const isBare = follows && !(reader.token(at - 1)?.kind === "word" && reader.isOneOf(at - 1, RESERVED)) ||
      reader.is(at - 1, "END");
    if (!hasAs && !isBare) return;
    const name = readPart(reader, at);
    this.#aliases.set(name, [...this.#aliases.get(name) ?? [], hasAs ? at - 1 : at]);
    const isList = reader.key(at + 1) === "(" && (hasAs || reader.is(at - 1, ")"));
    if (isList) {
      for (const [from] of reader.list(at + 2, reader.closing(at + 1))) this.#listed.add(readPart(reader, from));
    }
  }

  /** What an unqualified name is. */
  #classOfName(name: string): EnumClass {
    const candidates = this.relations.flatMap((relation) => classOfColumn(this.#state, relation, name) ?? []);
    const named = mergeClasses(candidates);
    const hasOpaque = this.relations.some((relation) => isView(relation) && relation.columns === undefined);
    const aliases = this.#aliases.get(name) ?? [];
    const aliased = mergeClasses(aliases.map((end) => this.#classBefore(end)));
    if (aliases.length === 0 && !this.#listed.has(name) && !this.#hasUnknown && !hasOpaque) return named;
    const classes = [named, aliased, ...(this.#listed.has(name) || hasOpaque ? [this.#anyEnum()] : [])];
    const types = mergeClasses(classes);
    // an output name that repeats the column's own name changes nothing
    if (types.is !== "none" && named.is === "enum" && !this.#hasUnknown && !hasOpaque && !this.#listed.has(name)) {
      if (aliased.is === "enum" && aliased.type === named.type) return named;
    }
    return types.is === "enum" ? { is: "maybe", types: [types.type] } : types;
  }

  /** What the expression is that ends before an alias. */
  #classBefore(end: number): EnumClass {
    if (this.#busy > 8) return this.#anyEnum();
    this.#busy++;
    try {
      return this.classOfRange(operandStart(this.#reader, end), end);
    } finally {
      this.#busy--;
    }
  }

  /** Every enum that a relation of the statement has. */
  #anyEnum(): EnumClass {
    const types = this.relations.flatMap((relation) =>
      (relation.columns ?? []).flatMap((column) => {
        const one = classOfColumn(this.#state, relation, column.name);
        return one === undefined || one.is === "none" ? [] : one.is === "enum" ? [one.type] : one.types;
      })
    );
    return types.length === 0 ? NO_ENUM : { is: "maybe", types: [...new Set(types)] };
  }

  /** What the column is whose name, with or without a qualifier, stands in a range. */
  classOfColumnAt(from: number, end: number): EnumClass {
    const reader = this.#reader;
    const name = readPart(reader, end - 1);
    if (end - from === 1) return this.#classOfName(name);
    const relations = this.#relations.get(readPart(reader, end - 3));
    if (relations?.length === 1) {
      return classOfColumn(this.#state, relations[0], name) ?? this.#classOfOpaque(relations[0]);
    }
    const guess = this.#classOfName(name);
    return guess.is === "enum" ? { is: "maybe", types: [guess.type] } : guess;
  }

  #classOfOpaque(relation: Relation): EnumClass {
    return isView(relation) && relation.columns === undefined ? this.#anyEnum() : NO_ENUM;
  }

  /** What the value of an expression is. Set by the module that reads expressions. */
  classOfRange: (from: number, to: number) => EnumClass = () => NO_ENUM;
}

/** Where the operand starts that ends before a position. */
export function operandStart(reader: StatementReader, end: number): number {
  let at = end;
  for (let cases = 0; at > 0; at--) {
    const key = reader.key(at - 1);
    if (key === ")" || key === "]") {
      const open = opening(reader, at - 1);
      if (open < 0) return at;
      at = open + 1;
      continue;
    }
    if (key === "(" || key === "[") return at;
    if (key === "END") cases++;
    else if (key === "CASE" && cases > 0) cases--;
    else if (cases === 0 && endsOperand(key)) return at;
  }
  return at;
}

/** Where the operand ends that starts at a position. */
export function operandEnd(reader: StatementReader, from: number, limit: number = reader.size): number {
  let cases = 0;
  let at = from;
  for (; at < limit; at = reader.next(at)) {
    const key = reader.key(at);
    if (key === "CASE") cases++;
    else if (key === "END" && cases > 0) cases--;
    else if (cases === 0 && (endsOperand(key) && at > from || key === ")" || key === "]")) return at;
  }
  return Math.min(at, limit);
}

/** The bracket that the one at a position closes; -1 when none does. */
export function opening(reader: StatementReader, close: number): number {
  let depth = 0;
  for (let at = close; at >= 0; at--) {
    const key = reader.key(at);
    if (key === ")" || key === "]") depth++;
    else if (key === "(" || key === "[") depth--;
    if (depth === 0) return at;
  }
  return -1;
}
