import { DATABASE_PROVIDERS, type DatabaseProvider } from "../../database/config.ts";
import { ts, unwrap } from "./typescript.ts";
import type { Evaluator, ScopedObject } from "./values.ts";
import { findProperty, readProperty } from "./object_literals.ts";

/** Fields of a `DatabaseConfig` that a deployment sets. */
export const CLIENT_FIELDS = [
  "provider",
  "connectionString",
  "endpoint",
  "host",
  "username",
  "password",
] as const;

/** A field of a `DatabaseConfig` that a deployment sets. */
export type ClientField = typeof CLIENT_FIELDS[number];

/** The configurations of database clients in the sources. */
export interface DatabaseClients {
  /** Providers that the sources name, except the embedded one. */
  readonly providers: ReadonlySet<DatabaseProvider>;
  /** The field that each environment variable sets. */
  readonly variables: ReadonlyMap<string, ClientField>;
  /** True if a configuration signs in with IAM tokens on RDS. */
  readonly usesIam: boolean;
}

/**
 * Reads the configurations of database clients: all object literals whose `provider` names a
 * provider of databases.
 *
 * @returns The providers, and the environment variables that the fields are read from.
 */
export function readDatabaseClients(
  files: Iterable<ts.SourceFile>,
  evaluator: Evaluator,
): DatabaseClients {
  const providers = new Set<DatabaseProvider>();
  const variables = new Map<string, ClientField>();
  let usesIam = false;
  function readClient(object: ScopedObject): void {
    const provider = findProperty(evaluator, object, "provider");
    if (provider === undefined) return;
    const named = listProviders(evaluator, provider.node);
    if (named.length === 0) return;
    for (const name of named) if (name !== "embedded-pg") providers.add(name);
    // one variable is often a folder for the embedded database and an address for the other
    const isEmbedded = named.length === 1 && named[0] === "embedded-pg" &&
      ts.isStringLiteralLike(unwrap(provider.node));
    if (isEmbedded) return;
    for (const field of CLIENT_FIELDS) {
      const value = findProperty(evaluator, object, field);
      if (value === undefined) continue;
      for (const name of listVariables(evaluator, value.node)) variables.set(name, field);
    }
    const iam = readProperty(evaluator, object, "iamAuth");
    usesIam ||= iam?.kind === "known" && iam.value === true;
  }
  function visit(node: ts.Node): void {
    if (ts.isObjectLiteralExpression(node)) readClient({ node });
    ts.forEachChild(node, visit);
  }
  for (const file of files) visit(file);
  return { providers, variables, usesIam };
}

/** Lists the names of providers in an expression, such as the default of a variable. */
function listProviders(evaluator: Evaluator, expression: ts.Expression): DatabaseProvider[] {
  const found: DatabaseProvider[] = [];
  walk(evaluator, expression, (node) => {
    const isName = ts.isStringLiteralLike(node) &&
      DATABASE_PROVIDERS.includes(node.text as DatabaseProvider);
    if (isName) found.push(node.text as DatabaseProvider);
  });
  return found;
}

/** Lists the environment variables that an expression reads. */
function listVariables(evaluator: Evaluator, expression: ts.Expression): string[] {
  const found: string[] = [];
  walk(evaluator, expression, (node) => {
    const name = readVariable(evaluator, node);
    if (name !== undefined) found.push(name);
  });
  return found;
}

const READERS: ReadonlySet<string> = new Set(["getRequiredEnv", "getOptionalEnv"]);

function readVariable(evaluator: Evaluator, node: ts.Node): string | undefined {
  if (ts.isCallExpression(node)) {
    const { expression, arguments: [name] } = node;
    return ts.isIdentifier(expression) && READERS.has(expression.text) && name !== undefined
      ? evaluator.readText(name)
      : undefined;
  }
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  return isEnvironment(evaluator, unwrap(node.expression)) ? node.name.text : undefined;
}

/** Checks for `process.env`, and for the result of `defineEnv`. */
function isEnvironment(evaluator: Evaluator, owner: ts.Expression): boolean {
  if (ts.isPropertyAccessExpression(owner)) {
    return owner.name.text === "env" && ts.isIdentifier(owner.expression) &&
      owner.expression.text === "process";
  }
  const value = evaluator.evaluate(owner);
  return value.kind === "expression" && ts.isCallExpression(value.node) &&
    ts.isIdentifier(value.node.expression) && value.node.expression.text === "defineEnv";
}

/** Constants that refer to each other are followed this far. */
const MAX_DEPTH = 5;

/** Visits an expression, and the constants that it names. */
function walk(
  evaluator: Evaluator,
  expression: ts.Node,
  visit: (node: ts.Node) => void,
  depth = 0,
): void {
  visit(expression);
  if (ts.isIdentifier(expression)) {
    const value = depth < MAX_DEPTH ? evaluator.evaluate(expression) : undefined;
    if (value?.kind === "expression" && value.node !== expression) {
      walk(evaluator, value.node, visit, depth + 1);
    }
    return;
  }
  // the name of a member is not a constant
  if (ts.isPropertyAccessExpression(expression)) return;
  ts.forEachChild(expression, (child) => {
    if (!ts.isTypeNode(child)) walk(evaluator, child, visit, depth);
  });
}
