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

/** Names of drizzle's functions that define relations; esbuild may add a number. */
const RELATIONS = /^defineRelations(?:Part)?\d*$/;

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
  const found: TableAccess[] = [];
  const seen = new Set<AnyNode>();
  /** Methods and members that patterns take: `const { delete: remove } = db`. */
  const keysByName = new Map<string, string>();
  const nodes: AnyNode[] = [];
  for (const root of roots) collect(root);
  for (const node of nodes) {
    if (node.type === "CallExpression") readCall(node);
    else if (node.type === "TaggedTemplateExpression") readTemplate(node);
  }
  return found;

  /** Lists the nodes of the code and of the functions that it names. */
  function collect(node: AnyNode): void {
    if (seen.has(node) || skipped.has(node)) return;
    seen.add(node);
    // esbuild's name of a function is no use of it
    if (node.type === "ExpressionStatement" && isNaming(node.expression)) return;
    if (isFunctionAssignment(node) || isUnusedExport(node)) return;
    // a query that uses a relation reads the tables of its condition
    if (node.type === "CallExpression" && RELATIONS.test(getCalleeName(node) ?? "")) return;
    nodes.push(node);
    if (node.type === "VariableDeclarator") addMembers(node);
    if (node.type === "Identifier") {
      for (const declared of listNamed(node)) collect(declared);
    }
    for (const child of childrenOf(node)) collect(child);
  }

  /** Lists the functions and classes that a name may be: of the bundle, or the member of a module. */
  function listNamed(node: Identifier): AnyNode[] {
    const { declarations, getParent } = fn.syntax;
    const parent = getParent(node);
    const isKey = parent?.type === "Property" && parent.key === node && !parent.computed;
    const isPattern = isKey && getParent(parent)?.type === "ObjectPattern";
    const isMember = parent?.type === "MemberExpression" && parent.property === node;
    if (isKey && !isPattern) return [];
    const exported = isMember || isPattern ? listExported(fn, node.name) : [];
    const names = exported.length > 0 ? exported : [node.name];
    return names.flatMap((each) => {
      const declared = declarations.get(each);
      return declared !== undefined && isDeferred(declared) ? [declared] : [];
    });
  }

  /** Returns true for `read = async () => {}` of a module that is imported on demand: a function counts where code names it. */
  function isFunctionAssignment(node: AnyNode): boolean {
    if (node.type !== "AssignmentExpression" || node.left.type !== "Identifier") return false;
    const value = unwrap(node.right);
    return isDeferred(value) && fn.syntax.declarations.get(node.left.name) === value;
  }

  /** Returns true for a getter of esbuild's `__export(module, { read: () => read })` that nothing calls. */
  function isUnusedExport(node: AnyNode): boolean {
    const { syntax } = fn;
    const exported = findExportGetter(syntax, node);
    return exported !== undefined &&
      findNameUse(syntax, exported.module, { member: exported.name }) === "unused";
  }

  function addMembers({ id, init }: VariableDeclarator): void {
    if (!init || id.type !== "ObjectPattern") return;
    for (const property of id.properties) {
      const key = getMemberName(property);
      const value = property.type === "Property" ? property.value : undefined;
      if (key !== undefined && value?.type === "Identifier") keysByName.set(value.name, key);
    }
  }

  function readCall(call: CallExpression): void {
    const callee = unwrap(call.callee);
    const [first, second] = call.arguments;
    const exported = fn.syntax.findExport(callee)?.name;
    if (exported === "assertRowExists") return addTable(call, second, [Select]);
    const method = getMethod(callee);
    if (method === undefined) return;
    if (SOURCES.test(method) || JOIN.test(method)) {
      if (first !== undefined) readSource(call, method, first);
    } else if (method === "findMany" || method === "findFirst") readRelational(call, callee);
    else if (EXECUTE.test(method) && first !== undefined && !isOtherOwner(callee)) {
      readExecuted(call, first);
    }
  }

  /** Returns the name of the method that is called: of a member, or of a name that a pattern took. */
  function getMethod(callee: AnyNode): string | undefined {
    return callee.type === "Identifier" ? keysByName.get(callee.name) : getMemberName(callee);
  }

  function readSource(call: CallExpression, method: string, source: AnyNode): void {
    if (method === "from" || JOIN.test(method)) {
      const text = getSql(source);
      if (text !== null) {
        return addSql(call, text === undefined ? undefined : `SELECT * FROM ${text}`);
      }
    }
    const chain = listChain(call);
    const has = (...names: string[]) => chain.some(({ name }) => names.includes(name));
    switch (method) {
      case "insert": {
        const isUpsert = has("onConflictDoUpdate");
        const conflict = chain.find(({ name }) => name === "onConflictDoNothing");
        const reads = isUpsert || has("returning") || (conflict?.args.length ?? 0) > 0;
        return addTable(call, source, [
          Insert,
          ...reads ? [Select] : [],
          ...isUpsert ? [Update] : [],
        ]);
      }
      case "update":
        return addTable(call, source, [
          Update,
          ...has("where", "returning", "from") ? [Select] : [],
        ]);
      case "delete":
        return addTable(call, source, [
          Delete,
          ...has("where", "returning") ? [Select] : [],
        ]);
      default: {
        const locks = chain.some(({ name, args }) => name === "for" && locksTable(args[1], source));
        return addTable(call, source, [Select, ...locks ? [Update] : []]);
      }
    }
  }

  /** Checks whether a lock with options concerns a table. */
  function locksTable(options: AnyNode | undefined, table: AnyNode): boolean {
    const resolved = options && resolve(options);
    const of = findProperty(resolved, "of");
    if (of === undefined) return true;
    const named = of.type === "ArrayExpression" ? of.elements : [of];
    const own = findTable(table);
    return named.some((each) => {
      const other = each === null ? undefined : findTable(each);
      return other === undefined || own === undefined || printTable(other) === printTable(own);
    });
  }

  /** Lists the calls of the statement that a call belongs to, also those on a variable that holds it. */
  function listChain(call: AnyNode): { name: string; args: readonly AnyNode[] }[] {
    const { getParent, listReferences } = fn.syntax;
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

  function readRelational(call: CallExpression, callee: AnyNode): void {
    const owner = callee.type === "MemberExpression" ? unwrap(callee.object) : undefined;
    if (owner?.type !== "MemberExpression") return;
    // `db.query`, or what a pattern took of it
    if (getMethod(resolve(owner.object)) !== "query") return;
    const key = getMemberName(owner);
    const table = key === undefined ? undefined : findSchemaTable(key);
    const [options] = call.arguments;
    if (table === undefined) found.push({ kind: "opaque", node: call });
    else addRelated(call, table, options);
  }

  /** Finds the table that `db.query` has under a name: that of a constant, or of a member of the schema. */
  function findSchemaTable(key: string): object | undefined {
    const isTable = (value: unknown): value is object => findTableName(value) !== undefined;
    const own = fn.evaluateName(key);
    if (isTable(own)) return own;
    // esbuild renames a table whose name something else has, too
    for (const name of fn.syntax.declarations.keys()) {
      const value = fn.evaluateName(name) as Record<string, unknown> | null | undefined;
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
  function addRelated(node: AnyNode, table: unknown, options: AnyNode | undefined): void {
    addRead(node, table);
    const resolved = options && resolveConstant(options);
    if (resolved === undefined || resolved.type === "Literal") return;
    if (resolved.type === "Identifier" && resolved.name === "undefined") return;
    addFiltered(node, table, findProperty(resolved, "where"));
    addFiltered(node, table, findProperty(resolved, "orderBy"));
    const given = findProperty(resolved, "with");
    const related = given && resolveConstant(given);
    const parts = [resolved, ...related === undefined ? [] : [related]];
    const isKnown = parts.every((part) =>
      part.type === "ObjectExpression" &&
      part.properties.every((each) => each.type === "Property" && !each.computed)
    );
    if (!isKnown) found.push({ kind: "opaque", node });
    if (related?.type !== "ObjectExpression") return;
    const relations = getRelations(fn).get(table) ?? {};
    for (const property of related.properties) {
      const relation = relations[getMemberName(property) ?? ""];
      if (relation === undefined || property.type !== "Property") continue;
      addRelation(node, relation);
      addRelated(node, relation.target, property.value);
    }
  }

  /** Adds what a relation reads beside its table: the table of `through`, and those of its condition. */
  function addRelation(node: AnyNode, { junction, condition }: Relation): void {
    addRead(node, junction);
    for (const text of condition?.() ?? []) {
      addSql(node, text === undefined ? undefined : `SELECT (${text})`);
    }
  }

  function addRead(node: AnyNode, table: unknown): void {
    const name = findTableName(table);
    if (name === undefined) return;
    found.push({ kind: "table", node, table: name, operations: [Select] });
  }

  /** Adds the tables of the relations that a filter or an order of drizzle 1.0 names. */
  function addFiltered(node: AnyNode, table: unknown, given: AnyNode | undefined): void {
    const relations = getRelations(fn).get(table) ?? {};
    if (!isDrizzleOne || given === undefined || Object.keys(relations).length === 0) return;
    const filter = resolveConstant(given);
    if (filter.type === "Literal" || isDeferred(filter)) return;
    if (filter.type === "ArrayExpression") {
      for (const each of filter.elements) addFiltered(node, table, each ?? undefined);
      return;
    }
    const properties = filter.type === "ObjectExpression" ? filter.properties : [undefined];
    for (const property of properties) {
      if (property?.type !== "Property" || property.computed) {
        found.push({ kind: "opaque", node });
        continue;
      }
      const key = getMemberName(property) ?? "";
      const relation = relations[key];
      if (/^(?:AND|OR|NOT)$/.test(key)) addFiltered(node, table, property.value);
      else if (relation !== undefined) {
        addRelation(node, relation);
        addRead(node, relation.target);
        addFiltered(node, relation.target, property.value);
      }
    }
  }

  function readTemplate(template: TaggedTemplateExpression): void {
    const parent = fn.syntax.getParent(template);
    // read with the call that it is given to
    if (parent?.type === "CallExpression" && parent.callee !== template) {
      const method = getMethod(unwrap(parent.callee)) ?? "";
      if (EXECUTE.test(method) || method === "from" || JOIN.test(method)) return;
    }
    const text = getTemplateText(template);
    const isSql = isSqlTag(template.tag);
    if (STATEMENT.test(text)) addSql(template, text);
    else if (isSql && /\bselect\b|\w\s*\(/i.test(text)) {
      // a part of a statement, which may have a subquery or call a function
      const access = readSql(`SELECT (${text})`);
      if (!access.hasUnknownTable) addSql(template, `SELECT (${text})`);
    }
  }

  function readExecuted(call: CallExpression, given: AnyNode): void {
    const text = getSql(given);
    if (text !== null) return addSql(call, text);
    const node = resolve(given);
    const parameter = findParameter(node);
    if (parameter !== undefined) {
      for (const argument of listArguments(fn.syntax, parameter) ?? []) {
        const value = getSql(argument);
        if (value === undefined || value === null && isUnknownCall(argument)) {
          found.push({ kind: "opaque", node: argument });
        } else if (typeof value === "string") addSql(argument, value);
      }
    } else if (isUnknownCall(node)) found.push({ kind: "opaque", node: call });
  }

  /** Finds the parameter that a name is. */
  function findParameter(
    node: AnyNode,
  ): Extract<LocalDeclaration, { kind: "parameter" }> | undefined {
    const local = node.type === "Identifier" ? findDeclaration(fn.syntax, node) : undefined;
    return local?.kind === "parameter" ? local : undefined;
  }

  /** Returns true for a call of a function that is not the project's. */
  function isUnknownCall(node: AnyNode): boolean {
    if (node.type !== "CallExpression" || node.callee.type !== "Identifier") return false;
    const { callee } = node;
    const { syntax } = fn;
    return !syntax.declarations.has(callee.name) &&
      findDeclaration(syntax, callee) === undefined && syntax.findExport(callee) === undefined;
  }

  /** Returns true for an object of the project that has such a method: `shell.execute("ls")`. */
  function isOtherOwner(callee: AnyNode): boolean {
    if (callee.type !== "MemberExpression") return false;
    const owner = resolve(callee.object);
    return owner.type === "ObjectExpression" || owner.type === "NewExpression";
  }

  /** Returns the SQL text of an expression; null for what is no text and no template. */
  function getSql(given: AnyNode): SqlText {
    const node = resolve(given);
    if (node.type === "TaggedTemplateExpression") return getTemplateText(node);
    if (node.type === "Literal") return typeof node.value === "string" ? node.value : null;
    if (node.type === "CallExpression") {
      const { callee, arguments: [first] } = node;
      if (callee.type !== "MemberExpression" || !isSqlTag(callee.object)) return null;
      return getMemberName(callee) === "raw" && first !== undefined ? getText(first) : undefined;
    }
    if (node.type === "BinaryExpression" || node.type === "TemplateLiteral") {
      return getText(node);
    }
    return null;
  }

  function getText(given: AnyNode): string | undefined {
    const node = resolve(given);
    const value = fn.evaluate(node);
    return value.isKnown && typeof value.value === "string" ? value.value : undefined;
  }

  /** Returns the text of a template; {@link PLACEHOLDER} replaces values. */
  function getTemplateText({ quasi: { quasis, expressions } }: TaggedTemplateExpression): string {
    return quasis.map(({ value: { cooked } }, at) => {
      const expression = expressions[at];
      if (expression === undefined) return cooked;
      const table = findTable(expression);
      if (table !== undefined) {
        return cooked +
          [table.schema, table.name].flatMap((part) => part === undefined ? [] : [quoteName(part)])
            .join(".");
      }
      const inner = getSql(expression);
      const isSql = inner !== null && resolve(expression).type !== "Literal";
      return cooked + (isSql ? inner ?? PLACEHOLDER : PLACEHOLDER);
    }).join("");
  }

  function isSqlTag(tag: AnyNode): boolean {
    return tag.type === "Identifier" &&
      (fn.syntax.findExport(tag)?.name === "sql" || tag.name === "sql");
  }

  /** Follows a name to the expression that it is declared with. */
  function resolve(given: AnyNode): AnyNode {
    let node = unwrap(given);
    for (let depth = 0; node.type === "Identifier" && depth < 5; depth++) {
      const next = findDeclaration(fn.syntax, node);
      if (next?.kind !== "constant") break;
      node = unwrap(next.value);
    }
    return node.type === "AwaitExpression" ? resolve(node.argument) : node;
  }

  /** Like `resolve`, also for names at the top level. */
  function resolveConstant(given: AnyNode): AnyNode {
    const node = resolve(given);
    const name = node.type === "Identifier" ? node.name : "";
    return fn.syntax.declarations.get(name) ?? node;
  }

  function findTable(given: AnyNode): TableName | undefined {
    const node = resolve(given);
    if (node.type === "CallExpression") {
      const [table] = node.arguments;
      return /^alias(?:edTable)?\d*$/.test(getCalleeName(node)) && table !== undefined
        ? findTable(table)
        : undefined;
    }
    const value = fn.evaluate(node);
    return value.isKnown ? findTableName(value.value) : undefined;
  }

  function addTable(
    node: AnyNode,
    given: AnyNode | undefined,
    operations: readonly DatabaseOperation[],
  ): void {
    for (const table of given === undefined ? [] : listTables(given)) {
      found.push({ kind: "table", node, table, operations });
    }
  }

  /** Lists the tables that an expression may be: branches, members of an object, and what calls give a parameter. */
  function listTables(given: AnyNode, depth = 0): TableName[] {
    const node = resolve(given);
    const listAll = (nodes: readonly AnyNode[]) =>
      nodes.flatMap((each) => listTables(each, depth + 1));
    if (depth > 4) return [];
    if (node.type === "ConditionalExpression") return listAll([node.consequent, node.alternate]);
    const parameter = findParameter(node);
    if (parameter !== undefined) return listAll(listArguments(fn.syntax, parameter) ?? []);
    if (node.type === "MemberExpression" && node.computed) {
      const owner = fn.evaluate(resolve(node.object));
      const members = owner.isKnown && !findTableName(owner.value) ? owner.value : undefined;
      const tables = Object.values(members ?? {}).map(findTableName);
      if (tables.some((each) => each !== undefined)) {
        return tables.filter((each) => each !== undefined);
      }
    }
    const table = findTable(node);
    return table === undefined ? [] : [table];
  }

  function addSql(node: AnyNode, text: string | undefined): void {
    const access = text === undefined ? undefined : readSql(text);
    if (access === undefined || access.hasUnknownTable) found.push({ kind: "opaque", node });
    for (const { table, operations } of access?.tables ?? []) {
      found.push({ kind: "table", node, table, operations });
    }
    for (const sequence of access?.sequences ?? []) {
      found.push({ kind: "sequence", node, sequence });
    }
    for (const statement of access?.ownerStatements ?? []) {
      found.push({ kind: "owner", node, statement });
    }
    for (const call of access?.calls ?? []) found.push({ kind: "call", node, call });
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
