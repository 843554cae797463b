import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import type { BuilderClient } from "../../database/queries/build_statement.ts";
import type {
  DeclaredStatement,
  DefineStatementOptions,
} from "../../database/queries/define_statement.ts";
import type { QueryTable } from "../../database/queries/query_tables.ts";
import { DrizzleClients } from "../../database/session/client.ts";
import { Dialect } from "../../database/session/dialect.ts";
import type { BundleSyntax } from "../project/bundle_syntax.ts";
import type { Problem } from "../project/findings.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import { type AnyNode, getCalleeName, isClass, isDeferred, unwrap } from "../sources/syntax.ts";
import { findNameUse, findUse } from "../project/value_uses.ts";
import { findTable, findTableName, listDefaults, listSerialSequences } from "./drizzle_values.ts";
import { describeMember, findKeptQuery } from "./kept_queries.ts";
import type { SqlCall, SqlReader, SqlSequence } from "./sql_access.ts";
import { findTableAccesses } from "./table_accesses.ts";
import { parseTable, printPublic, printTable, type TableName } from "./table_name.ts";
import { listOperations, type SequenceNeed, type TableNeed } from "./table_needs.ts";

/** What the queries of a function need. */
export interface QueryNeeds {
  readonly tables: readonly TableNeed[];
  readonly sequences: readonly SequenceNeed[];
  /** The places of the queries: `src/queries/notes.ts:12`. */
  readonly queries: readonly string[];
  /** Statements that cannot be built. */
  readonly unresolved: readonly Problem[];
  /** Accesses of tables for which a grant is, or may be, missing. */
  readonly missed: readonly Problem[];
  /** SQL for which the declaration cannot be checked. */
  readonly warnings: readonly Problem[];
  /** Queries that the function may not need, and how to split the code that has them. */
  readonly hints: readonly Problem[];
  /** Calls of functions in SQL. */
  readonly calls: readonly CallNeed[];
}

/** A call of a function in SQL. Its tables are not known if the function belongs to the project. */
export interface CallNeed extends SqlCall {
  readonly problem: Problem;
  /** True if the query lists its tables, so that those of the function may be among them. */
  readonly isListed: boolean;
}

/** Creates a client that builds statements and runs none. */
export function createBuilder(): BuilderClient {
  const builder: object = new DrizzleClients(new Dialect(), undefined).createBuilder();
  return builder as BuilderClient;
}

/** Checks whether a function may run a query or statement. */
export function isUsedQuery(fn: LoadedFunction, definition: PlacedDefinition): boolean {
  return findUse(fn, definition, { metadata: METADATA }) !== "unused";
}

/** Collects what definitions of queries need. */
export function readQueryNeeds(fn: LoadedFunction, readSql: SqlReader): QueryNeeds {
  const tableNeeds: TableNeed[] = [];
  const sequenceNeeds: SequenceNeed[] = [];
  const unresolved: Problem[] = [];
  const missed: Problem[] = [];
  const warnings: Problem[] = [];
  const hints: Problem[] = [];
  const callNeeds: CallNeed[] = [];
  const queries: string[] = [];
  const builder = createBuilder();
  for (const definition of fn.list("defineQuery")) {
    if (!isUsedQuery(fn, definition)) continue;
    const { queryName } = definition.value as { queryName: string };
    const { tables = [] } = definition.args[0] as { tables?: readonly QueryTable[] };
    addQuery(definition, queryName);
    addDeclared(tables, `${queryName} (${definition.place.file})`);
    compare(definition, queryName, tables);
  }
  for (const definition of fn.list("defineStatement")) {
    if (isUsedQuery(fn, definition)) addStatement(definition);
  }
  for (const definition of fn.list("RequiresTable")) addMethod(definition);
  findOutside();
  return {
    tables: tableNeeds,
    sequences: sequenceNeeds,
    queries,
    unresolved,
    missed,
    warnings,
    hints,
    calls: callNeeds,
  };

  function addQuery(definition: PlacedDefinition, name: string): void {
    const { place } = definition;
    queries.push(`${place.file}:${place.line}`);
    const hint = findKeptQuery(fn, definition, name);
    if (hint !== undefined) hints.push(hint);
  }

  function addDeclared(tables: readonly QueryTable[], reason: string): void {
    for (const { table, operations } of tables) {
      const name = typeof table === "string" ? parseTable(table) : findTableName(table)!;
      const object = typeof table === "string" ? findTable(fn, name) : table;
      addTable(name, operations as DatabaseOperation[], reason, object);
    }
  }

  function addTable(
    table: TableName,
    operations: readonly DatabaseOperation[],
    reason: string,
    object: object | undefined,
  ): void {
    const isTable = object !== undefined && typeof object === "object" &&
      findTableName(object) !== undefined;
    const inserts = isTable && listOperations(operations).includes(DatabaseOperation.Insert);
    const sequences = inserts ? listSerialSequences(object) : [];
    tableNeeds.push({ table, operations, sequences, reason });
    for (const text of inserts ? listDefaults(object) : []) {
      for (const { sequence, privilege } of readSql(`SELECT ${text}`).sequences) {
        if (sequence !== undefined) sequenceNeeds.push({ sequence, privilege, reason });
      }
    }
  }

  /** Compares the tables that the function of a query uses with those that it declares. */
  function compare(
    definition: PlacedDefinition,
    name: string,
    declared: readonly QueryTable[],
  ): void {
    const call = fn.findCall(definition);
    if (call === undefined) return;
    for (const access of listAccesses(call.arguments.slice(1), declared.length > 0, call)) {
      const { place } = access;
      if (access.kind === "opaque") {
        const message =
          `the tables of this SQL in ${name} are computed at run time: list all of them`;
        (declared.length === 0 ? missed : warnings).push({ place, message });
      } else missed.push(...findUndeclared(name, declared, access.table, access.operations, place));
    }
  }

  /** Finds accesses outside of queries, for which no grant is generated. */
  function findOutside(): void {
    const { program } = fn.syntax;
    const functions = new Set([...fn.syntax.declarations.values()].filter(isDeferred));
    // functions count where the code names them, not where they are declared
    const roots = program.body.flatMap((statement): AnyNode[] => {
      if (functions.has(statement)) return [];
      if (statement.type !== "VariableDeclaration") return [statement];
      return statement.declarations.flatMap(({ init }) =>
        !init || functions.has(unwrap(init)) ? [] : [init]
      );
    });
    for (const access of listAccesses(roots)) {
      const { place } = access;
      if (access.kind === "opaque") {
        const message =
          "the tables of this SQL are computed at run time: move it into a defineQuery that lists them";
        missed.push({ place, message });
      } else {
        const verb = access.operations[0] === DatabaseOperation.Select ? "read" : "written";
        missed.push({
          place,
          message:
            `table ${printTable(access.table)} is ${verb} outside a declared query, so no grant ` +
            "is generated: move it into a defineQuery that lists the table",
        });
      }
    }
  }

  /**
   * Adds the sequences, the calls and the statements of the owner in code outside of other queries.
   *
   * @param isListed True if the code's query lists its tables.
   * @param query The call that defines the query.
   * @returns The other accesses.
   */
  function listAccesses(roots: readonly AnyNode[], isListed?: boolean, query?: AnyNode) {
    const definitions = fn.list("defineQuery", "defineStatement");
    const calls = definitions.flatMap((each) => fn.findCall(each) ?? []);
    const others = new Set(calls.filter((call) => call !== query));
    return findTableAccesses(fn, readSql, roots, others).flatMap((access) => {
      const place = fn.getPlace(access.node);
      if (access.kind === "table" || access.kind === "opaque") return [{ ...access, place }];
      if (access.kind === "sequence") addSequence(access.sequence, place);
      else if (access.kind === "call") addCall(access.call, place, isListed);
      else addOwner(access.statement, place);
      return [];
    });
  }

  function addSequence(
    { caller, sequence, privilege }: SqlSequence,
    place: Problem["place"],
  ): void {
    if (sequence === undefined) {
      unresolved.push({ place, message: describeUnknownSequence(caller) });
    } else sequenceNeeds.push({ sequence, privilege, reason: `${caller} (${place.file})` });
  }

  function addOwner(statement: string, place: Problem["place"]): void {
    const message = `${statement} needs a right that generated roles do not have: run it with ` +
      "another role, or use DELETE in place of TRUNCATE and a table in place of a materialized view";
    missed.push({ place, message });
  }

  function addCall(call: SqlCall, place: Problem["place"], isListed = false): void {
    const message =
      `the SQL calls ${
        printTable(call.name)
      }(), whose tables are not in its text, so no grant is generated ` +
      "for them: list all of them in the option tables of the query. The role also needs EXECUTE, which " +
      "PostgreSQL gives everyone unless it was revoked";
    callNeeds.push({ ...call, isListed, problem: { place, message } });
  }

  /** Adds the tables of a statement's own SQL, and compares them with a declaration. */
  function addStatement(definition: PlacedDefinition): void {
    const { args, place } = definition;
    const [name, , options, statement] = args as [
      string,
      unknown,
      DefineStatementOptions<never, unknown> | undefined,
      DeclaredStatement,
    ];
    const reason = `${name} (${place.file})`;
    addQuery(definition, name);
    const declared = options?.tables;
    if (declared !== undefined) addDeclared(declared, reason);
    let text: string;
    try {
      text = statement.buildOn(builder).query.getQuery().sql;
    } catch (error) {
      unresolved.push({ place, message: (error as Error).message });
      return;
    }
    const { tables, sequences, calls, ownerStatements, hasUnknownTable } = readSql(text);
    for (const each of ownerStatements) addOwner(each, place);
    if (hasUnknownTable && declared === undefined) {
      const message =
        `a table of ${name} or its operation cannot be determined: list all of them in ` +
        "the option tables of the statement";
      missed.push({ place, message });
    }
    for (const sequence of sequences) addSequence(sequence, place);
    // an empty list says that the functions need no tables of the role
    if (declared === undefined) { for (const call of calls) addCall(call, place); }
    for (const { table, operations } of tables) {
      if (declared === undefined) {
        addTable(table, operations, reason, findTable(fn, table));
      } else missed.push(...findUndeclared(name, declared, table, operations, place));
    }
  }

  /** Adds the tables of a method, if the code names it or hands its class on. */
  function addMethod({ args, place }: PlacedDefinition): void {
    const [tables, target, context] = args as [
      readonly QueryTable[],
      unknown,
      string | symbol | { name: string | symbol },
    ];
    const member = typeof context === "object" ? context.name : context;
    const owner = findClass(target, member);
    const { syntax } = fn;
    if (owner !== undefined && typeof member === "string") {
      const use = findNameUse(syntax, owner, {
        followsInstances: true,
        isHarmless: (node, parent) =>
          parent.type === "MemberExpression" ||
          isClass(parent) && parent.superClass === node ||
          isDecoration(syntax, node, parent),
      });
      // members of the class and of its instances are known by their names
      if (!syntax.memberNames.has(member)) {
        if (use === "unused") return;
        hints.push({ place, message: describeMember(`${owner}.${member}`, member) });
      }
    }
    queries.push(`${place.file}:${place.line}`);
    addDeclared(tables, `${owner ?? "class"}.${String(member)} (${place.file})`);
  }

  /** Returns the name of the class of a method. */
  function findClass(target: unknown, member: string | symbol): string | undefined {
    for (const [name, node] of fn.syntax.declarations) {
      if (!isClass(node)) continue;
      const value = fn.evaluateName(name) as (new () => unknown) | undefined;
      if (value === undefined) continue;
      const owns = [value, value.prototype as object].some((each) =>
        each === target || Object.getOwnPropertyDescriptor(each, member)?.value === target
      );
      if (owns) return name;
    }
    return undefined;
  }
}

/** Members of a query that run nothing. */
const METADATA = ["queryName", "tables", "transaction"];

/** Returns true for an argument of esbuild's helpers of decorators, or of `getTablePermissions`. */
function isDecoration(syntax: BundleSyntax, node: AnyNode, parent: AnyNode): boolean {
  if (parent.type !== "CallExpression" || parent.callee === node) return false;
  return /^__(?:decorat|runInit|name)/.test(getCalleeName(parent)) ||
    syntax.findExport(parent.callee)?.name === "getTablePermissions";
}

/** The message about a sequence whose name is not in the text. */
function describeUnknownSequence(caller: string): string {
  return `the sequence of ${caller}() is computed at run time, so no grant is generated: write its ` +
    "name in the SQL text";
}

/** Finds the operations on a table that a declaration misses. */
function findUndeclared(
  name: string,
  declared: readonly QueryTable[],
  table: TableName,
  operations: readonly DatabaseOperation[],
  place: Problem["place"],
): Problem[] {
  const text = printPublic(table);
  const granted = declared.filter((each) =>
    printPublic(
      typeof each.table === "string" ? parseTable(each.table) : findTableName(each.table)!,
    ) === text
  );
  if (granted.length === 0) {
    return [{ place, message: `${name} uses table ${text}, which is missing in its tables` }];
  }
  const known = granted.flatMap((each) => listOperations(each.operations as DatabaseOperation[]));
  return operations.filter((operation) => !known.includes(operation)).map((operation) => ({
    place,
    message: `${name} needs ${operation} on table ${text}, which is missing in its tables`,
  }));
}
