import { AUTH_SCHEMA_MAPPING } from "../../auth/schema.ts";
import { DatabaseOperation } from "../../database/table_permission.ts";
import type { Collector } from "./collector.ts";
import {
  AUTH_MODE,
  AUTH_SCHEMA,
  AUTH_TABLE,
  ENTRY,
  ENV_NAME,
  type Path,
  type Step,
  type Subject,
  TABLES,
} from "./effects.ts";
import { isTrellis, type TableName, type Value } from "./evaluate.ts";
import { ts } from "./typescript.ts";
import { listWords } from "../../database/distsql/list_words.ts";

const OPERATIONS: readonly DatabaseOperation[] = [
  DatabaseOperation.Select,
  DatabaseOperation.Insert,
  DatabaseOperation.Update,
  DatabaseOperation.Delete,
];

/**
 * Models of the plugins that better-auth publishes (1.7, November 2026). Of a module that exports all
 * tables of a project, only these belong to better-auth.
 */
const PLUGIN_MODELS: readonly string[] = listWords(`
  apikey deviceCode invitation jwks member organization organizationRole
  oauthAccessToken oauthApplication oauthClient oauthConsent oauthRefreshToken passkey
  rateLimit scimProvider ssoProvider subscription team teamMember twoFactor
  walletAddress
`);

/**
 * Checks whether a step requires a value that must be known statically.
 *
 * @param step The step.
 */
export function isRequiredConstant(step: Step | undefined): step is string {
  return typeof step === "string" &&
    (step === AUTH_MODE || step === AUTH_SCHEMA || step.startsWith(TABLES) ||
      step.startsWith(ENTRY) ||
      step.startsWith(AUTH_TABLE) ||
      step.startsWith(ENV_NAME));
}

/**
 * Returns the subject of a required constant.
 *
 * @param step The step.
 */
export function getSubject(step: string): Subject {
  return step.startsWith(ENV_NAME) ? "environment" : "grants";
}

/** Returns the step that requires the name of an environment variable. */
export function getEnvNameStep(isRequired: boolean): Step {
  return ENV_NAME + (isRequired ? "required" : "optional");
}

/**
 * Checks whether a step requires the auth schema, or a table that replaces one of the auth package's.
 *
 * @param step The step.
 */
export function isAuthTable(step: Step | undefined): boolean {
  return typeof step === "string" && (step === AUTH_SCHEMA || step.startsWith(AUTH_TABLE));
}

/**
 * Reads a value that must be known statically.
 *
 * @param c The collector.
 * @param node The expression.
 * @param path A path that begins with the required constant.
 * @returns True if the value was read; false for a name or call that must be followed.
 */
export function collectRequiredConstant(c: Collector, node: ts.Expression, path: Path): boolean {
  const sink = path[0] as string;
  const value = c.evaluator.evaluate(node);
  if (value.kind === "undefined") return true;
  if (sink === AUTH_MODE) {
    if (value.kind !== "string") return false;
    if (value.text === "session") {
      c.emit({ kind: "auth", need: "check", why: "auth: session", node });
    }
    return true;
  }
  if (sink.startsWith(ENV_NAME)) {
    if (value.kind !== "string") return false;
    c.emit({ kind: "env", name: value.text, isRequired: sink === getEnvNameStep(true), node });
    return true;
  }
  if (sink.startsWith(AUTH_TABLE)) {
    if (value.kind !== "table") return false;
    c.emit({
      kind: "auth-table",
      model: sink.slice(AUTH_TABLE.length),
      table: value.table,
      definition: value.node,
    });
    return true;
  }
  if (sink === AUTH_SCHEMA) {
    if (value.kind === "namespace") {
      for (const model of PLUGIN_MODELS) {
        const table = c.evaluator.getMember(value, model, node);
        if (table.kind !== "table") continue;
        c.emit({ kind: "auth-table", model, table: table.table, definition: table.node });
      }
      return true;
    }
    if (value.kind !== "object" || value.env !== undefined) return false;
    collectPluginTables(c, value.node);
    return true;
  }
  if (sink.startsWith(TABLES)) {
    if (value.kind !== "array" || value.env !== undefined) return false;
    const entry = ENTRY + sink.slice(TABLES.length);
    for (const element of value.node.elements) {
      if (ts.isSpreadElement(element)) c.reach(element.expression, [sink]);
      else c.reach(element, [entry]);
    }
    return true;
  }
  if (value.kind !== "object" || value.env !== undefined) return false;
  collectEntry(c, value, Number(sink.slice(ENTRY.length)));
  return true;
}

/** Collects the tables of an auth schema that belong to better-auth's plugins. */
function collectPluginTables(c: Collector, schema: ts.ObjectLiteralExpression): void {
  for (const property of schema.properties) {
    if (ts.isSpreadAssignment(property)) {
      c.reach(property.expression, [AUTH_SCHEMA]);
    } else if (property.name === undefined || ts.isComputedPropertyName(property.name)) {
      c.unresolved(property, "a table of the auth schema is worked out at run time", "grants");
    } else if (!Object.hasOwn(AUTH_SCHEMA_MAPPING, property.name.text)) {
      const table = ts.isPropertyAssignment(property) ? property.initializer : property.name;
      c.reach(table as ts.Expression, [AUTH_TABLE + property.name.text]);
    }
  }
}

/**
 * Describes a required constant for a message.
 *
 * @param c The collector.
 * @param step The step.
 */
export function describeRequiredConstant(c: Collector, step: string): string {
  if (step === AUTH_MODE) return "the auth mode of a handler";
  if (step === AUTH_SCHEMA) return "the tables of AuthConfig.schema";
  if (step.startsWith(ENV_NAME)) return "the name of an environment variable";
  if (step.startsWith(AUTH_TABLE)) return `the auth table "${step.slice(AUTH_TABLE.length)}"`;
  return `the tables of ${c.queries[Number(step.slice(step.indexOf(":") + 1))].name}`;
}

function collectEntry(c: Collector, entry: Value & { kind: "object" }, id: number): void {
  const { name } = c.queries[id];
  const table = c.evaluator.getMember(entry, "table", entry.node);
  const named = table.kind === "table"
    ? table.table
    : table.kind === "string"
    ? parseTable(table.text)
    : undefined;
  if (named === undefined) {
    return c.unresolved(
      table.kind === "unknown" ? table.node : entry.node,
      `a table of ${name} is computed at run time`,
      "grants",
    );
  }
  const operations = readOperations(c, c.evaluator.getMember(entry, "operations", entry.node));
  if (!Array.isArray(operations)) {
    return c.unresolved(
      operations as ts.Node,
      `the operations of ${name} are computed at run time`,
      "grants",
    );
  }
  const definition = table.kind === "table" ? table.node : undefined;
  c.emit({ kind: "grant", query: id, table: named, operations, definition });
}

function readOperations(c: Collector, value: Value): DatabaseOperation[] | ts.Node {
  if (value.kind !== "array") return (value as { node: ts.Node }).node;
  const operations = new Set<DatabaseOperation>();
  for (const element of value.node.elements) {
    if (ts.isSpreadElement(element)) {
      const spread = readOperations(c, c.evaluator.evaluate(element.expression));
      if (!Array.isArray(spread)) return element;
      for (const operation of spread) operations.add(operation);
      continue;
    }
    const operation = toOperation(c.evaluator.evaluate(element));
    if (operation === undefined) return element;
    for (const each of operation === DatabaseOperation.All ? OPERATIONS : [operation]) {
      operations.add(each);
    }
  }
  return [...operations];
}

function toOperation(value: Value): DatabaseOperation | undefined {
  if (value.kind === "string") {
    return Object.values(DatabaseOperation).find((operation) => operation === value.text);
  }
  if (
    value.kind !== "package" || !isTrellis(value.module) ||
    !value.name.startsWith("DatabaseOperation.")
  ) {
    return undefined;
  }
  return (DatabaseOperation as Record<string, DatabaseOperation>)[
    value.name.slice("DatabaseOperation.".length)
  ];
}

/**
 * Parses a declared table name: `app.notes` is `notes` in the schema `app`.
 *
 * @param text The declared name.
 */
export function parseTable(text: string): TableName {
  const dot = text.indexOf(".");
  return dot < 0 ? { name: text } : { schema: text.slice(0, dot), name: text.slice(dot + 1) };
}
