import { DATABASE_PROVIDERS, type DatabaseProvider } from "../../database/config/config.ts";
import { findValue } from "../project/declarations.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import {
  type AnyNode,
  childrenOf,
  findProperty,
  getMemberName,
  getText,
  unwrap,
  visitNodes,
} from "../sources/syntax.ts";
import { findProcessReads } from "./variable_reads.ts";

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
  readonly providers: readonly DatabaseProvider[];
  /** Environment variables with the field that each sets. */
  readonly variables: readonly (readonly [string, ClientField])[];
  /** True if a configuration signs in with IAM tokens on RDS. */
  readonly usesIam: boolean;
}

/**
 * Reads the configurations of database clients: all object literals whose `provider` names a
 * provider of databases.
 *
 * @returns The providers, and the environment variables that the fields are read from.
 */
export function readDatabaseClients(fn: LoadedFunction): DatabaseClients {
  const { syntax } = fn;
  const providers = new Set<DatabaseProvider>();
  const variables = new Map<string, ClientField>();
  const processReads = new Map(findProcessReads(syntax).map(({ name, node }) => [node, name]));
  const environments = fn.list("defineEnv");
  let usesIam = false;
  visitNodes(syntax.program, (node) => {
    if (node.type === "ObjectExpression") readClient(node);
  });
  return { providers: [...providers], variables: [...variables], usesIam };

  function readClient(object: AnyNode): void {
    const provider = findProperty(object, "provider");
    if (provider === undefined) return;
    const named: DatabaseProvider[] = [];
    walk(provider, (node) => {
      const value = getText(node) as DatabaseProvider;
      if (DATABASE_PROVIDERS.includes(value)) named.push(value);
    });
    if (named.length === 0) return;
    for (const name of named) if (name !== "embedded-pg") providers.add(name);
    // one variable is often a folder for the embedded database and an address for the other
    const isEmbedded = named.length === 1 && named[0] === "embedded-pg" &&
      provider.type === "Literal";
    if (isEmbedded) return;
    for (const field of CLIENT_FIELDS) {
      const value = findProperty(object, field);
      if (value === undefined) continue;
      walk(value, (node) => {
        const name = readVariable(node);
        if (name !== undefined) variables.set(name, field);
      });
    }
    const iam = findProperty(object, "iamAuth");
    const value = iam && fn.evaluate(iam);
    usesIam ||= value?.isKnown === true && value.value === true;
  }

  function readVariable(node: AnyNode): string | undefined {
    const process = processReads.get(node);
    if (process !== undefined) return process;
    if (node.type === "CallExpression") {
      const name = syntax.findExport(node.callee)?.name;
      const [argument] = node.arguments;
      if (argument === undefined || name !== "getRequiredEnv" && name !== "getOptionalEnv") {
        return undefined;
      }
      const value = fn.evaluate(argument);
      return value.isKnown && typeof value.value === "string" ? value.value : undefined;
    }
    if (node.type !== "MemberExpression" || node.object.type !== "Identifier") return undefined;
    const value = fn.evaluateName(node.object.name);
    return value !== undefined && environments.some((each) => each.value === value)
      ? getMemberName(node)
      : undefined;
  }

  /** Visits an expression, and the constants that it names. */
  function walk(expression: AnyNode, visit: (node: AnyNode) => void, depth = 0): void {
    const node = unwrap(expression);
    visit(node);
    if (node.type === "Identifier") {
      if (depth >= MAX_DEPTH) return;
      const value = findValue(syntax, node);
      if (value !== undefined) walk(value, visit, depth + 1);
      return;
    }
    // the name of a member is not a constant
    if (node.type === "MemberExpression") return;
    for (const child of childrenOf(node)) walk(child, visit, depth);
  }
}

/** Constants that refer to each other are followed this far. */
const MAX_DEPTH = 5;

/** Joins the configurations of all functions. */
export function joinDatabaseClients(all: readonly DatabaseClients[]): DatabaseClients {
  return {
    providers: [...new Set(all.flatMap(({ providers }) => providers))],
    variables: [...new Map(all.flatMap(({ variables }) => variables))],
    usesIam: all.some(({ usesIam }) => usesIam),
  };
}
