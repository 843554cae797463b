import type {
  CallExpression,
  Identifier,
  TaggedTemplateExpression,
  VariableDeclarator,
} from "acorn";
import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import { isDrizzleOne } from "../../database/session/drizzle_version.ts";
import { quoteName } from "../../sql/quote.ts";
import { findDeclaration, listArguments, type LocalDeclaration } from "../project/declarations.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { findExportGetter, findNameUse } from "../project/value_uses.ts";
import {
  type AnyNode,
  childrenOf,
  findProperty,
  getAssignedName,
  getCalleeName,
  getMemberName,
  isCallee,
  isDeferred,
  isNaming,
  unwrap,
} from "../sources/syntax.ts";
import { findTableName } from "./drizzle_values.ts";
import { getRelations, type Relation } from "./relations.ts";
import { PLACEHOLDER, type SqlCall, type SqlReader, type SqlSequence } from "./sql_access.ts";
import { printTable, type TableName } from "./table_name.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** An access that the text of a bundle shows. */
export type TableAccess =
  | {
    readonly kind: "table";
    readonly node: AnyNode;
    readonly table: TableName;
    readonly operations: readonly DatabaseOperation[];
  }
  | { readonly kind: "sequence"; readonly node: AnyNode; readonly sequence: SqlSequence }
  | { readonly kind: "call"; readonly node: AnyNode; readonly call: SqlCall }
  /** A statement that needs the owner of its table. */
  | { readonly kind: "owner"; readonly node: AnyNode; readonly statement: string }
  /** SQL whose tables are unknown. */
  | { readonly kind: "opaque"; readonly node: AnyNode };

const JOIN = /^(?:inner|left|right|full|cross)Join(?:Lateral)?$/;
const SOURCES = /^(?:from|insert|update|delete)$/;
/** Methods that take SQL: of drizzle's client, and of drivers. */
const EXECUTE = /^(?:execute|unsafe|query)$/;
const STATEMENT =
  /^\s*(?:select|insert|update|delete|with|merge|do|table|lock|truncate|refresh)\b/i;

/** SQL text; `undefined` if it is unknown, `null` if the value is not SQL text. */
type SqlText = string | undefined | null;

/**
 * Finds the tables that code uses: calls of drizzle's builders, relational queries and SQL. Functions of the project that
 * it names count as called.
 *
 * @param roots The code.
 * @param skipped Parts that are not searched: queries, which declare their tables.
 */
export function findTableAccesses(
  fn: LoadedFunction,
  readSql: SqlReader,
  roots: readonly AnyNode[],
  skipped: ReadonlySet<AnyNode> = new Set(),
): TableAccess[] {
  return new AccessFinder(fn, readSql, skipped).find(roots);
}

/** Names of drizzle's functions that define relations; esbuild may add a number. */
const RELATIONS = /^defineRelations(?:Part)?\d*$/;

class AccessFinder {
  readonly #fn: LoadedFunction;
  readonly #readSql: SqlReader;
  readonly #skipped: ReadonlySet<AnyNode>;
  readonly #found: TableAccess[] = [];
  readonly #seen = new Set<AnyNode>();
  /** Methods and members that patterns take: `const { delete: remove } = db`. */
  readonly #members = new Map<string, string>();

  constructor(fn: LoadedFunction, readSql: SqlReader, skipped: ReadonlySet<AnyNode>) {
    this.#fn = fn;
    this.#readSql = readSql;
    this.#skipped = skipped;
  }

  find(roots: readonly AnyNode[]): TableAccess[] {
    const nodes: AnyNode[] = [];
    for (const root of roots) this.#collect(root, nodes);
    for (const node of nodes) {
      if (node.type === "CallExpression") this.#readCall(node);
      else if (node.type === "TaggedTemplateExpression") this.#readTemplate(node);
    }
    return this.#found;
  }

  /** Lists the nodes of the code and of the functions that it names. */
  #collect(node: AnyNode, nodes: AnyNode[]): void {
    if (this.#seen.has(node) || this.#skipped.has(node)) return;
    this.#seen.add(node);
    // esbuild's name of a function is no use of it
    if (node.type === "ExpressionStatement" && isNaming(node.expression)) return;
    if (this.#isFunctionAssignment(node) || this.#isUnusedExport(node)) return;
    // a query that uses a relation reads the tables of its condition
    if (node.type === "CallExpression" && RELATIONS.test(getCalleeName(node) ?? "")) return;
    nodes.push(node);
    if (node.type === "VariableDeclarator") this.#addMembers(node);
    if (node.type === "Identifier") {
      for (const declared of this.#listNamed(node)) this.#collect(declared, nodes);
    }
    for (const child of childrenOf(node)) this.#collect(child, nodes);
  }

  /** Lists the functions and classes that a name may be: of the bundle, or the member of a module. */
  #listNamed(node: Identifier): AnyNode[] {
    const { declarations, getParent } = this.#fn.syntax;
    const parent = getParent(node);
    const isKey = parent?.type === "Property" && parent.key === node && !parent.computed;
    const isPattern = isKey && getParent(parent)?.type === "ObjectPattern";
    const isMember = parent?.type === "MemberExpression" && parent.property === node;
    if (isKey && !isPattern) return [];
    const exported = isMember || isPattern ? listExported(this.#fn, node.name) : [];
    const names = exported.length > 0 ? exported : [node.name];
    return names.flatMap((each) => {
      const declared = declarations.get(each);
      return declared !== undefined && isDeferred(declared) ? [declared] : [];
    });
  }

  /** Returns true for `read = async () => {}` of a module that is imported on demand: a function counts where code names it. */
  #isFunctionAssignment(node: AnyNode): boolean {
    if (node.type !== "AssignmentExpression" || node.left.type !== "Identifier") return false;
    const value = unwrap(node.right);
    return isDeferred(value) && this.#fn.syntax.declarations.get(node.left.name) === value;
  }

  /** Returns true for a getter of esbuild's `__export(module, { read: () => read })` that nothing calls. */
  #isUnusedExport(node: AnyNode): boolean {
    const { syntax } = this.#fn;
    const exported = findExportGetter(syntax, node);
    return exported !== undefined &&
      findNameUse(syntax, exported.module, { member: exported.name }) === "unused";
  }

  #addMembers({ id, init }: VariableDeclarator): void {
    if (!init || id.type !== "ObjectPattern") return;
    for (const property of id.properties) {
      const key = getMemberName(property);
      const value = property.type === "Property" ? property.value : undefined;
      if (key !== undefined && value?.type === "Identifier") this.#members.set(value.name, key);
    }
  }

  #readCall(call: CallExpression): void {
    const callee = unwrap(call.callee);
    const [first, second] = call.arguments;
    const exported = this.#fn.syntax.findExport(callee)?.name;
    if (exported === "assertRowExists") return this.#addTable(call, second, [Select]);
    const method = this.#getMethod(callee);
    if (method === undefined) return;
    if (SOURCES.test(method) || JOIN.test(method)) {
      if (first !== undefined) this.#readSource(call, method, first);
    } else if (method === "findMany" || method === "findFirst") this.#readRelational(call, callee);
    else if (EXECUTE.test(method) && first !== undefined && !this.#isOtherOwner(callee)) {
      this.#readExecuted(call, first);
    }
  }

  /** Returns the name of the method that is called: of a member, or of a name that a pattern took. */
  #getMethod(callee: AnyNode): string | undefined {
    return callee.type === "Identifier" ? this.#members.get(callee.name) : getMemberName(callee);
  }

  #readSource(call: CallExpression, method: string, source: AnyNode): void {
    if (method === "from" || JOIN.test(method)) {
      const text = this.#getSql(source);
      if (text !== null) {
        return this.#addSql(call, text === undefined ? undefined : `SELECT * FROM ${text}`);
      }
    }
    const chain = this.#listChain(call);
    const has = (...names: string[]) => chain.some(({ name }) => names.includes(name));
    switch (method) {
      case "insert": {
        const isUpsert = has("onConflictDoUpdate");
        const conflict = chain.find(({ name }) => name === "onConflictDoNothing");
        const reads = isUpsert || has("returning") || (conflict?.args.length ?? 0) > 0;
        return this.#addTable(call, source, [
          Insert,
          ...reads ? [Select] : [],
          ...isUpsert ? [Update] : [],
        ]);
      }
      case "update":
        return this.#addTable(call, source, [
          Update,
          ...has("where", "returning", "from") ? [Select] : [],
        ]);
      case "delete":
        return this.#addTable(call, source, [
          Delete,
          ...has("where", "returning") ? [Select] : [],
        ]);
      default: {
        const locks = chain.some(({ name, args }) =>
          name === "for" && this.#locks(args[1], source)
        );
        return this.#addTable(call, source, [Select, ...locks ? [Update] : []]);
      }
    }
  }

  /** Checks whether a lock with options concerns a table. */
  #locks(options: AnyNode | undefined, table: AnyNode): boolean {
    const resolved = options && this.#resolve(options);
    const of = findProperty(resolved, "of");
    if (of === undefined) return true;
    const named = of.type === "ArrayExpression" ? of.elements : [of];
    const own = this.#findTable(table);
    return named.some((each) => {
      const other = each === null ? undefined : this.#findTable(each);
      return other === undefined || own === undefined || printTable(other) === printTable(own);
    });
  }

  /** Lists the calls of the statement that a call belongs to, also those on a variable that holds it. */
  #listChain(call: AnyNode): { name: string; args: readonly AnyNode[] }[] {
    const { getParent, listReferences } = this.#fn.syntax;
    const chain: { name: string; args: readonly AnyNode[] }[] = [];
    const names = new Set<string>();
    const climb = (from: AnyNode): void => {
      let at = from;
      for (;;) {
        const member = getParent(at);
        const outer = member && getParent(member);
        if (member?.type !== "MemberExpression" || member.object !== at) break;
        if (!isCallee(member, outer)) break;
        chain.push({ name: getMemberName(member) ?? "", args: outer.arguments });
        at = outer;
      }
      const name = getAssignedName(getParent(at), at);
      if (name === undefined || names.has(name)) return;
      names.add(name);
      for (const reference of listReferences(name)) climb(reference);
    };
    climb(call);
    return chain;
  }

  #readRelational(call: CallExpression, callee: AnyNode): void {
    const owner = callee.type === "MemberExpression" ? unwrap(callee.object) : undefined;
    if (owner?.type !== "MemberExpression") return;
    // `db.query`, or what a pattern took of it
    if (this.#getMethod(this.#resolve(owner.object)) !== "query") return;
    const key = getMemberName(owner);
    const table = key === undefined ? undefined : this.#findSchemaTable(key);
    const [options] = call.arguments;
    if (table === undefined) this.#found.push({ kind: "opaque", node: call });
    else this.#addRelated(call, table, options);
  }

  /** Finds the table that `db.query` has under a name: that of a constant, or of a member of the schema. */
  #findSchemaTable(key: string): object | undefined {
    const isTable = (value: unknown): value is object => findTableName(value) !== undefined;
    const own = this.#fn.evaluateName(key);
    if (isTable(own)) return own;
    // esbuild renames a table whose name something else has, too
    for (const name of this.#fn.syntax.declarations.keys()) {
      const value = this.#fn.evaluateName(name) as Record<string, unknown> | null | undefined;
      const isObject = typeof value === "object" && value !== null && !isTable(value);
      const member = isObject && Object.hasOwn(value, key) ? value[key] : undefined;
      if (isTable(member)) return member;
      // the result of `defineRelations`
      const { table } = Object(member);
      if (isTable(table)) return table;
    }
    return undefined;
  }

  /** Adds a table of a relational query, and those of the relations that its options name. */
  #addRelated(node: AnyNode, table: unknown, options: AnyNode | undefined): void {
    this.#addRead(node, table);
    const resolved = options && this.#resolveConstant(options);
    if (resolved === undefined || resolved.type === "Literal") return;
    if (resolved.type === "Identifier" && resolved.name === "undefined") return;
    this.#addFiltered(node, table, findProperty(resolved, "where"));
    this.#addFiltered(node, table, findProperty(resolved, "orderBy"));
    const given = findProperty(resolved, "with");
    const related = given && this.#resolveConstant(given);
    const parts = [resolved, ...related === undefined ? [] : [related]];
    const isKnown = parts.every((part) =>
      part.type === "ObjectExpression" &&
      part.properties.every((each) => each.type === "Property" && !each.computed)
    );
    if (!isKnown) this.#found.push({ kind: "opaque", node });
    if (related?.type !== "ObjectExpression") return;
    const relations = getRelations(this.#fn).get(table) ?? {};
    for (const property of related.properties) {
      const relation = relations[getMemberName(property) ?? ""];
      if (relation === undefined || property.type !== "Property") continue;
      this.#addRelation(node, relation);
      this.#addRelated(node, relation.target, property.value);
    }
  }

  /** Adds what a relation reads beside its table: the table of `through`, and those of its condition. */
  #addRelation(node: AnyNode, { junction, condition }: Relation): void {
    this.#addRead(node, junction);
    for (const text of condition?.() ?? []) {
      this.#addSql(node, text === undefined ? undefined : `SELECT (${text})`);
    }
  }

  #addRead(node: AnyNode, table: unknown): void {
    const name = findTableName(table);
    if (name === undefined) return;
    this.#found.push({ kind: "table", node, table: name, operations: [Select] });
  }

  /** Adds the tables of the relations that a filter or an order of drizzle 1.0 names. */
  #addFiltered(node: AnyNode, table: unknown, given: AnyNode | undefined): void {
    const relations = getRelations(this.#fn).get(table) ?? {};
    if (!isDrizzleOne || given === undefined || Object.keys(relations).length === 0) return;
    const filter = this.#resolveConstant(given);
    if (filter.type === "Literal" || isDeferred(filter)) return;
    if (filter.type === "ArrayExpression") {
      for (const each of filter.elements) this.#addFiltered(node, table, each ?? undefined);
      return;
    }
    const properties = filter.type === "ObjectExpression" ? filter.properties : [undefined];
    for (const property of properties) {
      if (property?.type !== "Property" || property.computed) {
        this.#found.push({ kind: "opaque", node });
        continue;
      }
      const key = getMemberName(property) ?? "";
      const relation = relations[key];
      if (/^(?:AND|OR|NOT)$/.test(key)) this.#addFiltered(node, table, property.value);
      else if (relation !== undefined) {
        this.#addRelation(node, relation);
        this.#addRead(node, relation.target);
        this.#addFiltered(node, relation.target, property.value);
      }
    }
  }

  #readTemplate(template: TaggedTemplateExpression): void {
    const parent = this.#fn.syntax.getParent(template);
    // read with the call that it is given to
    if (parent?.type === "CallExpression" && parent.callee !== template) {
      const method = this.#getMethod(unwrap(parent.callee)) ?? "";
      if (EXECUTE.test(method) || method === "from" || JOIN.test(method)) return;
    }
    const text = this.#getTemplateText(template);
    const isSql = this.#isSqlTag(template.tag);
    if (STATEMENT.test(text)) this.#addSql(template, text);
    else if (isSql && /\bselect\b|\w\s*\(/i.test(text)) {
      // a part of a statement, which may have a subquery or call a function
      const access = this.#readSql(`SELECT (${text})`);
      if (!access.hasUnknownTable) this.#addSql(template, `SELECT (${text})`);
    }
  }

  #readExecuted(call: CallExpression, given: AnyNode): void {
    const text = this.#getSql(given);
    if (text !== null) return this.#addSql(call, text);
    const node = this.#resolve(given);
    const parameter = this.#findParameter(node);
    if (parameter !== undefined) {
      for (const argument of listArguments(this.#fn.syntax, parameter) ?? []) {
        const value = this.#getSql(argument);
        if (value === undefined || value === null && this.#isUnknownCall(argument)) {
          this.#found.push({ kind: "opaque", node: argument });
        } else if (typeof value === "string") this.#addSql(argument, value);
      }
    } else if (this.#isUnknownCall(node)) this.#found.push({ kind: "opaque", node: call });
  }

  /** Finds the parameter that a name is. */
  #findParameter(node: AnyNode): Extract<LocalDeclaration, { kind: "parameter" }> | undefined {
    const local = node.type === "Identifier" ? findDeclaration(this.#fn.syntax, node) : undefined;
    return local?.kind === "parameter" ? local : undefined;
  }

  /** Returns true for a call of a function that is not the project's. */
  #isUnknownCall(node: AnyNode): boolean {
    if (node.type !== "CallExpression" || node.callee.type !== "Identifier") return false;
    const { callee } = node;
    const { syntax } = this.#fn;
    return !syntax.declarations.has(callee.name) &&
      findDeclaration(syntax, callee) === undefined && syntax.findExport(callee) === undefined;
  }

  /** Returns true for an object of the project that has such a method: `shell.execute("ls")`. */
  #isOtherOwner(callee: AnyNode): boolean {
    if (callee.type !== "MemberExpression") return false;
    const owner = this.#resolve(callee.object);
    return owner.type === "ObjectExpression" || owner.type === "NewExpression";
  }

  /** Returns the SQL text of an expression; null for what is no text and no template. */
  #getSql(given: AnyNode): SqlText {
    const node = this.#resolve(given);
    if (node.type === "TaggedTemplateExpression") return this.#getTemplateText(node);
    if (node.type === "Literal") return typeof node.value === "string" ? node.value : null;
    if (node.type === "CallExpression") {
      const { callee, arguments: [first] } = node;
      if (callee.type !== "MemberExpression" || !this.#isSqlTag(callee.object)) return null;
      return getMemberName(callee) === "raw" && first !== undefined
        ? this.#getText(first)
        : undefined;
    }
    if (node.type === "BinaryExpression" || node.type === "TemplateLiteral") {
      return this.#getText(node);
    }
    return null;
  }

  #getText(given: AnyNode): string | undefined {
    const node = this.#resolve(given);
    const value = this.#fn.evaluate(node);
    return value.isKnown && typeof value.value === "string" ? value.value : undefined;
  }

  /** Returns the text of a template; {@link PLACEHOLDER} replaces values. */
  #getTemplateText({ quasi: { quasis, expressions } }: TaggedTemplateExpression): string {
    return quasis.map(({ value: { cooked } }, at) => {
      const expression = expressions[at];
      if (expression === undefined) return cooked;
      const table = this.#findTable(expression);
      if (table !== undefined) {
        return cooked +
          [table.schema, table.name].flatMap((part) => part === undefined ? [] : [quoteName(part)])
            .join(".");
      }
      const inner = this.#getSql(expression);
      const isSql = inner !== null && this.#resolve(expression).type !== "Literal";
      return cooked + (isSql ? inner ?? PLACEHOLDER : PLACEHOLDER);
    }).join("");
  }

  #isSqlTag(tag: AnyNode): boolean {
    return tag.type === "Identifier" &&
      (this.#fn.syntax.findExport(tag)?.name === "sql" || tag.name === "sql");
  }

  /** Follows a name to the expression that it is declared with. */
  #resolve(given: AnyNode): AnyNode {
    let node = unwrap(given);
    for (let depth = 0; node.type === "Identifier" && depth < 5; depth++) {
      const next = findDeclaration(this.#fn.syntax, node);
      if (next?.kind !== "constant") break;
      node = unwrap(next.value);
    }
    return node.type === "AwaitExpression" ? this.#resolve(node.argument) : node;
  }

  /** Like {@link #resolve}, also for names at the top level. */
  #resolveConstant(given: AnyNode): AnyNode {
    const node = this.#resolve(given);
    const name = node.type === "Identifier" ? node.name : "";
    return this.#fn.syntax.declarations.get(name) ?? node;
  }

  #findTable(given: AnyNode): TableName | undefined {
    const node = this.#resolve(given);
    if (node.type === "CallExpression") {
      const [table] = node.arguments;
      return /^alias(?:edTable)?\d*$/.test(getCalleeName(node)) && table !== undefined
        ? this.#findTable(table)
        : undefined;
    }
    const value = this.#fn.evaluate(node);
    return value.isKnown ? findTableName(value.value) : undefined;
  }

  #addTable(
    node: AnyNode,
    given: AnyNode | undefined,
    operations: readonly DatabaseOperation[],
  ): void {
    for (const table of given === undefined ? [] : this.#listTables(given)) {
      this.#found.push({ kind: "table", node, table, operations });
    }
  }

  /** Lists the tables that an expression may be: branches, members of an object, and what calls give a parameter. */
  #listTables(given: AnyNode, depth = 0): TableName[] {
    const node = this.#resolve(given);
    const listAll = (nodes: readonly AnyNode[]) =>
      nodes.flatMap((each) => this.#listTables(each, depth + 1));
    if (depth > 4) return [];
    if (node.type === "ConditionalExpression") return listAll([node.consequent, node.alternate]);
    const parameter = this.#findParameter(node);
    if (parameter !== undefined) return listAll(listArguments(this.#fn.syntax, parameter) ?? []);
    if (node.type === "MemberExpression" && node.computed) {
      const owner = this.#fn.evaluate(this.#resolve(node.object));
      const members = owner.isKnown && !findTableName(owner.value) ? owner.value : undefined;
      const tables = Object.values(members ?? {}).map(findTableName);
      if (tables.some((each) => each !== undefined)) {
        return tables.filter((each) => each !== undefined);
      }
    }
    const table = this.#findTable(node);
    return table === undefined ? [] : [table];
  }

  #addSql(node: AnyNode, text: string | undefined): void {
    const access = text === undefined ? undefined : this.#readSql(text);
    if (access === undefined || access.hasUnknownTable) this.#found.push({ kind: "opaque", node });
    for (const { table, operations } of access?.tables ?? []) {
      this.#found.push({ kind: "table", node, table, operations });
    }
    for (const sequence of access?.sequences ?? []) {
      this.#found.push({ kind: "sequence", node, sequence });
    }
    for (const statement of access?.ownerStatements ?? []) {
      this.#found.push({ kind: "owner", node, statement });
    }
    for (const call of access?.calls ?? []) this.#found.push({ kind: "call", node, call });
  }
}

/** Lists the names at the top level that modules of the bundle export under a name. */
function listExported(fn: LoadedFunction, exported: string): string[] {
  return fn.syntax.program.body.flatMap((statement) => {
    const call = statement.type === "ExpressionStatement" ? statement.expression : undefined;
    if (call?.type !== "CallExpression" || getCalleeName(call) !== "__export") return [];
    const getter = findProperty(call.arguments[1], exported);
    const value = getter?.type === "ArrowFunctionExpression" ? getter.body : undefined;
    return value?.type === "Identifier" ? [value.name] : [];
  });
}
