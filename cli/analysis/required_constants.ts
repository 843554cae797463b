import { AUTH_SCHEMA_MAPPING } from "../../auth/schema.ts";
import { DatabaseOperation } from "../../database/table_permission.ts";
import { getAuthOptions } from "./auth_mode.ts";
import type { Collector } from "./collector.ts";
import {
  AUTH_EXTENSION,
  AUTH_FIELDS,
  AUTH_MODE,
  AUTH_SCHEMA,
  AUTH_TABLE,
  ENTRY,
  ENV_NAME,
  ORGANIZATION,
  type Path,
  type Step,
  type Subject,
  TABLES,
} from "./effects.ts";
import { asObject } from "./object_literals.ts";
import {
  type Bindings,
  type Evaluator,
  parseTable,
  type ScopedObject,
  type TableName,
  type Value,
} from "./values.ts";
import { ts } from "./typescript.ts";
import { listWords } from "../../sql/list_words.ts";

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

/** Checks whether a step requires a value that must be known statically. */
export function isRequiredConstant(step: Step | undefined): step is string {
  return typeof step === "string" &&
    (step === AUTH_EXTENSION || step === AUTH_MODE || step === AUTH_SCHEMA ||
      step === ORGANIZATION ||
      step.startsWith(AUTH_FIELDS) || step.startsWith(TABLES) ||
      step.startsWith(ENTRY) ||
      step.startsWith(AUTH_TABLE) ||
      step.startsWith(ENV_NAME));
}

/** Returns the subject of a required constant. */
export function getSubject(step: string): Subject {
  return step.startsWith(ENV_NAME) ? "environment" : "grants";
}

/**
 * Returns the step that requires the name of an environment variable.
 *
 * @param read How the variable is read; `secret` for the function of that name.
 */
export function getEnvNameStep(read: "required" | "optional" | "secret"): Step {
  return ENV_NAME + read;
}

/**
 * Checks whether a step requires the auth schema, or a replacement of a table of the auth package.
 */
export function isAuthTable(step: Step | undefined): boolean {
  return typeof step === "string" && (step === AUTH_SCHEMA || step.startsWith(AUTH_TABLE));
}

/**
 * Reads a value that must be known statically.
 *
 * @param path A path that begins with the required constant.
 * @returns True if the value was read; false for a name or call that must be followed.
 */
export function collectRequiredConstant(c: Collector, node: ts.Expression, path: Path): boolean {
  const sink = path[0] as string;
  const value = c.evaluator.evaluate(node);
  if (value.kind === "undefined") return true;
  const found = asObject(value);
  // an object in a function is followed with the arguments of its calls
  const object = found?.bindings === undefined ? found : undefined;
  if (sink === AUTH_EXTENSION) {
    c.emit({ kind: "auth-extended" });
    return true;
  }
  if (sink === AUTH_MODE) {
    const mode = c.evaluator.readText(node);
    if (mode === undefined) return false;
    if (mode === "session") {
      c.emit({ kind: "auth", need: "check", why: "auth: session", node });
    }
    if (mode === "api-key") {
      c.emit({ kind: "auth", need: "api-key", why: "auth: api-key", node });
    }
    const options = getAuthOptions(value);
    if (options?.given !== undefined) collectNeeds(c, options.given.node);
    // the configuration of a value is where its function comes from
    return options === undefined;
  }
  if (sink === ORGANIZATION) {
    if (found === undefined) return false;
    c.emit({ kind: "auth", need: "organization", why: "organization of the session", node });
    return true;
  }
  if (sink.startsWith(AUTH_FIELDS)) {
    if (found !== undefined) collectHiddenFields(c, found, sink.slice(AUTH_FIELDS.length));
    // a field that cannot be determined counts as read
    return true;
  }
  if (sink.startsWith(ENV_NAME)) {
    const name = c.evaluator.readText(node);
    if (name === undefined) return false;
    const isLoaded = sink === getEnvNameStep("secret");
    const isRequired = isLoaded || sink === getEnvNameStep("required");
    c.emit({ kind: "env", name, isRequired, isLoaded, node });
    return true;
  }
  if (sink.startsWith(AUTH_TABLE)) {
    if (value.kind !== "table") return false;
    const model = sink.slice(AUTH_TABLE.length);
    c.emit({ kind: "auth-table", model, table: value.table, definition: value.node });
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
    if (object === undefined) return false;
    collectPluginTables(c, object.node);
    return true;
  }
  if (sink.startsWith(TABLES)) {
    const list = asList(value);
    if (list === undefined || list.bindings !== undefined) return false;
    const entry = ENTRY + sink.slice(TABLES.length);
    for (const element of list.node.elements) {
      if (ts.isSpreadElement(element)) c.reach(element.expression, [sink]);
      else c.reach(element, [entry]);
    }
    return true;
  }
  if (object === undefined) return false;
  collectEntry(c, object.node, Number(sink.slice(ENTRY.length)));
  return true;
}

/** Collects what a handler asks of sessions: its own options, or those of a value such as `session({ … })`. */
export function collectNeeds(c: Collector, options: ts.Expression): void {
  c.reach(options, ["organization", ORGANIZATION]);
  const { evaluator } = c;
  const roles = evaluator.getMember(evaluator.evaluate(options), "roles", options);
  if (evaluator.toLiteral(roles, options).kind === "known" && roles.kind !== "undefined") {
    c.emit({ kind: "auth-roles", node: options });
  }
}

/** Collects the fields of `additionalFields` with `returned: false`. */
function collectHiddenFields(c: Collector, fields: ScopedObject, model: string): void {
  const value: Value = { kind: "expression", ...fields };
  for (const { name } of fields.node.properties) {
    const property = name && c.evaluator.getKey(name, fields.bindings);
    if (property === undefined) continue;
    const field = c.evaluator.getMember(value, property, name!);
    const returned = c.evaluator.getMember(field, "returned", name!);
    const literal = c.evaluator.toLiteral(returned, name!);
    if (literal.kind !== "known" || literal.value !== false) continue;
    c.emit({ kind: "auth-hidden", model, property });
  }
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

/** Describes a required constant for a message. */
export function describeRequiredConstant(c: Collector, step: string): string {
  if (step === AUTH_EXTENSION) return "the plugins of AuthConfig";
  if (step === AUTH_MODE) return "the auth mode of a handler";
  if (step === ORGANIZATION) return "the option organization of a handler";
  if (step.startsWith(AUTH_FIELDS)) return "the additionalFields of AuthConfig";
  if (step === AUTH_SCHEMA) return "the tables of AuthConfig.schema";
  if (step.startsWith(ENV_NAME)) return "the name of an environment variable";
  if (step.startsWith(AUTH_TABLE)) return `the auth table "${step.slice(AUTH_TABLE.length)}"`;
  return `the tables of ${c.queries[Number(step.slice(step.indexOf(":") + 1))].name}`;
}

function collectEntry(c: Collector, node: ts.ObjectLiteralExpression, id: number): void {
  const { name } = c.queries[id];
  const entry: Value = { kind: "expression", node };
  const table = c.evaluator.getMember(entry, "table", node);
  const named = asTable(c.evaluator, table);
  if (named === undefined) {
    return c.unresolved(
      getNode(table) ?? node,
      `a table of ${name} is computed at run time`,
      "grants",
    );
  }
  const operations = readOperations(c, c.evaluator.getMember(entry, "operations", node), node);
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

function readOperations(c: Collector, value: Value, at: ts.Node): DatabaseOperation[] | ts.Node {
  const list = asList(value);
  if (list === undefined) return getNode(value) ?? at;
  const operations = new Set<DatabaseOperation>();
  for (const element of list.node.elements) {
    if (ts.isSpreadElement(element)) {
      const spread = readOperations(c, c.evaluator.evaluate(element.expression), element);
      if (!Array.isArray(spread)) return element;
      for (const operation of spread) operations.add(operation);
      continue;
    }
    const text = c.evaluator.readText(element);
    const operation = Object.values(DatabaseOperation).find((each) => each === text);
    if (operation === undefined) return element;
    for (const each of operation === DatabaseOperation.All ? OPERATIONS : [operation]) {
      operations.add(each);
    }
  }
  return [...operations];
}

function asList(
  value: Value,
): { readonly node: ts.ArrayLiteralExpression; readonly bindings?: Bindings } | undefined {
  return value.kind === "expression" && ts.isArrayLiteralExpression(value.node)
    ? { node: value.node, bindings: value.bindings }
    : undefined;
}

/** Returns the node that makes a value unknown. */
function getNode(value: Value): ts.Node | undefined {
  return value.kind === "unknown" || value.kind === "expression" ? value.node : undefined;
}

/** Returns a value as a table: a drizzle table, or its declared name. */
export function asTable(evaluator: Evaluator, value: Value): TableName | undefined {
  if (value.kind === "table") return value.table;
  const name = value.kind === "expression"
    ? evaluator.readText(value.node, value.bindings)
    : undefined;
  return name === undefined ? undefined : parseTable(name);
}
