import {
  type DeclaredEnum,
  type DeclaredSchema,
  type DeclaredTable,
  findObject,
  getKey,
  type ViewColumn,
} from "../../schema/declared_schema.ts";
import { readLiteral } from "../../schema/literals.ts";
import { readObject, readPart } from "../../schema/read_object.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { type EnumClass, getEnums, mergeClasses, NO_ENUM } from "./enum_class.ts";
import { findCast, isOperation, readBranches } from "./expression_shape.ts";
import { TRANSPARENT } from "./keywords.ts";
import { operandStart, type Range, unwrap } from "./operands.ts";
import { readNames, type Relation, type StatementNames } from "./statement_names.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/** Literal of an enum in a statement. */
export interface EnumLiteral {
  readonly label: string;
  /** Type of its cast. */
  readonly type?: DeclaredEnum;
}

const SELECT_ENDS: ReadonlySet<string> = keywordSet(`
  FROM WHERE GROUP HAVING ORDER LIMIT UNION INTERSECT EXCEPT WINDOW OFFSET
`);
const MAX_DEPTH = 20;

function maybe(types: readonly DeclaredEnum[]): EnumClass {
  return types.length === 0 ? NO_ENUM : { is: "maybe", types: [...new Set(types)] };
}

/**
 * Unifies the classes of alternatives: if one is certainly an enum, the others are the same enum.
 */
function unify(classes: readonly EnumClass[]): EnumClass {
  return classes.find((one) => one.is === "enum") ?? maybe(classes.flatMap(getEnums));
}

/** Classifier that determines whether expressions of a statement have enum values. */
export class ExpressionClass {
  readonly #reader: StatementReader;
  readonly #state: DeclaredSchema;
  readonly #names: StatementNames;
  readonly #resolving: Set<string> = new Set();
  #depth = 0;

  /**
   * @param reader The statement.
   * @param state Declarations before it.
   * @param table Table whose columns its expressions name.
   */
  constructor(reader: StatementReader, state: DeclaredSchema, table?: DeclaredTable) {
    this.#reader = reader;
    this.#state = state;
    this.#names = readNames(reader, state, table);
  }

  /** Tables and views of the statement. */
  get #relations(): Relation[] {
    return [...new Set([...this.#names.relations.values()].flat())];
  }

  /** Returns the enums of all columns of the statement's relations. */
  #allEnums(): EnumClass {
    const classes = this.#relations.flatMap((relation) =>
      (relation.columns ?? []).map((column) =>
        this.#classInRelation(relation, column.name) ?? NO_ENUM
      )
    );
    const isOpaque = this.#relations.some((relation) => relation.columns === undefined);
    return maybe(isOpaque ? [...this.#state.enums.values()] : classes.flatMap(getEnums));
  }

  #classInRelation(relation: Relation, name: string): EnumClass | undefined {
    if ("sources" in relation) {
      const column = relation.columns?.find((one) => one.name === name);
      if (column === undefined) return undefined;
      const types = column.enums.flatMap((key) => this.#state.enums.get(key) ?? []);
      return column.isCertain && types.length === 1 ? { is: "enum", type: types[0] } : maybe(types);
    }
    const column = relation.columns.find((one) => one.name === name);
    const type = column?.enum === undefined ? undefined : this.#state.enums.get(column.enum);
    if (column === undefined) return undefined;
    if (type === undefined) return NO_ENUM;
    return column.isArray ? maybe([type]) : { is: "enum", type };
  }

  /** Returns the class of a column of a relation, possibly with unknown columns. */
  #classInKnown(relation: Relation, name: string): EnumClass {
    return this.#classInRelation(relation, name) ??
      (relation.columns === undefined ? this.#allEnums() : NO_ENUM);
  }

  #classOfName(name: string): EnumClass {
    const { aliases, listed, hasUnknown } = this.#names;
    const candidates = this.#relations.flatMap((relation) =>
      this.#classInRelation(relation, name) ?? []
    );
    const named = mergeClasses(candidates);
    const isOpaque = this.#relations.some((relation) => relation.columns === undefined) ||
      listed.has(name);
    const guess = isOpaque ? this.#allEnums() : NO_ENUM;
    const aliased = this.#resolving.has(name)
      ? []
      : this.#classesOfAlias(name, aliases.get(name) ?? []);
    const isSame = aliased.every((one) =>
      one.is === named.is && getEnums(one)[0] === getEnums(named)[0]
    );
    if (!isOpaque && isSame && (!hasUnknown || named.is === "none")) return named;
    return maybe([named, guess, ...aliased].flatMap(getEnums));
  }

  /**
   * Returns the classes of the expressions that an output name refers to. Inside of them the name
   * is a column.
   */
  #classesOfAlias(name: string, ends: readonly number[]): EnumClass[] {
    this.#resolving.add(name);
    const classes = ends.map((end) => this.getClass([operandStart(this.#reader, end), end]));
    this.#resolving.delete(name);
    return classes;
  }

  /** Returns the columns of a relation, or of all; `undefined` if some are unknown. */
  getColumns(qualifier: string | undefined): ViewColumn[] | undefined {
    const relations = qualifier === undefined
      ? this.#relations
      : this.#names.relations.get(qualifier) ?? [];
    const isKnown = relations.length > 0 && (qualifier !== undefined || !this.#names.hasUnknown) &&
      relations.every((relation) => relation.columns !== undefined);
    if (!isKnown) return undefined;
    return relations.flatMap((relation) =>
      relation.columns!.map(({ name }) => {
        const type = this.#classInKnown(relation, name);
        return { name, enums: getEnums(type).map(getKey), isCertain: type.is === "enum" };
      })
    );
  }

  #classOfColumn(from: number, end: number): EnumClass {
    const name = readPart(this.#reader, end - 1);
    if (end - from === 1) return this.#classOfName(name);
    const relations = this.#names.relations.get(readPart(this.#reader, end - 3)) ?? [];
    if (relations.length === 1) return this.#classInKnown(relations[0], name);
    if (relations.length > 1) {
      return mergeClasses(relations.map((relation) => this.#classInKnown(relation, name)));
    }
    return maybe(getEnums(this.#classOfName(name)));
  }

  /** Returns the enum of a type name at a position. */
  #typeAt(at: number): DeclaredEnum | undefined {
    return this.#reader.isName(at)
      ? findObject(this.#state.enums, readObject(this.#reader, at))
      : undefined;
  }

  /** Parses a literal: `'a'`, `'a'::mood`, `CAST('a' AS mood)`, `mood 'a'`; also in parentheses. */
  literalAt(range: Range): EnumLiteral | undefined {
    const reader = this.#reader;
    const [from, to] = unwrap(reader, range);
    const first = readLiteral(reader.token(from));
    if (first !== undefined) {
      if (to === from + 1) return { label: first };
      const type = reader.is(from + 1, "::") && reader.nameEnd(from + 2) === to
        ? this.#typeAt(from + 2)
        : undefined;
      return type && { label: first, type };
    }
    if (reader.is(from, "CAST", "(") && reader.next(from + 1) === to && reader.is(from + 3, "AS")) {
      const [label, type] = [readLiteral(reader.token(from + 2)), this.#typeAt(from + 4)];
      return label !== undefined && type && reader.nameEnd(from + 4) === to - 1
        ? { label, type }
        : undefined;
    }
    const end = reader.nameEnd(from);
    const [label, type] = [readLiteral(reader.token(end)), this.#typeAt(from)];
    return label !== undefined && type && end + 1 === to ? { label, type } : undefined;
  }

  /** Returns the class of an expression. */
  getClass(range: Range): EnumClass {
    if (this.#depth > MAX_DEPTH) return this.#allEnums();
    this.#depth++;
    try {
      return this.#getClass(unwrap(this.#reader, range));
    } finally {
      this.#depth--;
    }
  }

  #getClass([from, to]: Range): EnumClass {
    const reader = this.#reader;
    if (from >= to) return NO_ENUM;
    if (reader.list(from, to).length > 1) return this.#containedIn([from, to]); // row expression
    const literal = this.literalAt([from, to]);
    if (literal) return literal.type ? { is: "enum", type: literal.type } : NO_ENUM;
    if (reader.is(from, "SELECT") || reader.is(from, "WITH")) return this.#classOfQuery(from, to);
    if (reader.is(from, "VALUES")) return this.#containedIn([from, to]);
    if (reader.is(from, "CASE") && reader.is(to - 1, "END")) {
      return unify(readBranches(reader, [from, to]).map((branch) => this.getClass(branch)));
    }
    const cast = findCast(reader, [from, to]);
    if (cast >= 0) {
      const type = this.#typeAt(cast + 1);
      if (type === undefined) return NO_ENUM;
      return reader.nameEnd(cast + 1) === to ? { is: "enum", type } : maybe([type]);
    }
    const end = reader.nameEnd(from);
    if (end === to) return this.#classOfColumn(from, end);
    if (end > from && reader.key(end) === "(") return this.#classOfCall(from, end, to);
    if (isOperation(reader, [from, to])) return NO_ENUM;
    return this.#containedIn([from, to]);
  }

  #classOfCall(from: number, end: number, to: number): EnumClass {
    const reader = this.#reader;
    const close = reader.closing(end);
    const key = reader.key(end - 1);
    if (key === "CAST" && close + 1 === to) {
      let as = end + 1;
      for (let at = end + 1; at < close; at = reader.next(at)) if (reader.is(at, "AS")) as = at;
      const type = this.#typeAt(as + 1);
      return type === undefined ? NO_ENUM : { is: "enum", type };
    }
    const type = this.#typeAt(from);
    if (type && reader.token(end + 1)?.kind === "string") return { is: "enum", type };
    if (!TRANSPARENT.has(key)) return NO_ENUM;
    const hasTail = close + 1 < to;
    const first = reader.skip(reader.skip(end + 1, "DISTINCT"), "ALL");
    const args = reader.list(first, close).map((range) => this.getClass(range));
    const isArray = /ARRAY|^(?:ROW|UNNEST|MODE|PERCENTILE_DISC)$/.test(key);
    if (isArray) return this.#containedIn([from, to]);
    const value = key === "NULLIF" ? unify(args.slice(0, 1)) : unify(args);
    return hasTail && !reader.is(close + 1, "FILTER") && !reader.is(close + 1, "OVER")
      ? maybe(getEnums(value))
      : value;
  }

  /** Returns the class of a subquery: that of its first SELECT. */
  #classOfQuery(from: number, to: number): EnumClass {
    const reader = this.#reader;
    const select = reader.is(from, "SELECT") ? from : reader.find("SELECT", from, to);
    if (select < 0) return this.#containedIn([from, to]);
    const end = reader.findEnd(SELECT_ENDS, select + 1, to);
    const start = reader.skip(reader.skip(select + 1, "DISTINCT"), "ALL");
    return maybe(
      getEnums(unify(reader.list(start, end).map((item) => this.getClass(item)))),
    );
  }

  /** Returns the enums of columns and literals in a range. */
  #containedIn([from, to]: Range): EnumClass {
    const reader = this.#reader;
    const types: DeclaredEnum[] = [];
    for (let at = from; at < to; at = Math.max(reader.nameEnd(at), at + 1)) {
      if (!reader.isName(at)) continue;
      const end = reader.nameEnd(at);
      const type = this.#typeAt(at);
      if (type) types.push(type);
      else if (reader.key(end) !== "(" && reader.key(at - 1) !== "::") {
        types.push(...getEnums(this.#classOfColumn(at, end)));
      }
    }
    return maybe(types);
  }
}
