import type { NewExpression } from "acorn";
import { AppError, isAppError } from "../../errors/app_error.ts";
import * as databaseErrors from "../../errors/database_errors.ts";
import { ERROR_CODES } from "../../errors/error_code.ts";
import * as httpErrors from "../../errors/http_errors.ts";
import type { RegisteredOperation } from "../../validation/openapi/registry.ts";
import type { PackageUse } from "../project/bundle_syntax.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import type { Place } from "../sources/source_positions.ts";
import { type AnyNode, childrenOf, isReference, listImports } from "../sources/syntax.ts";

/** A schema in the options of a handler. */
export type AnySchema = NonNullable<RegisteredOperation["schema"]>;

/** Checks for a schema of zod 4 or zod/mini. */
export function isSchema(value: unknown): value is AnySchema {
  return typeof value === "object" && value !== null && "_zod" in value;
}

/** Headers with the signatures that functions of this package check. */
const SIGNATURES: Readonly<Record<string, string>> = {
  validateCodeHostWebhook: "X-Hub-Signature-256",
  validateGitHubWebhook: "X-Hub-Signature-256",
  validatePaymentsWebhook: "Payments-Signature",
  validateStripeWebhook: "Stripe-Signature",
  validateStandardWebhook: "webhook-signature",
  validateShopifyWebhook: "X-Shopify-Hmac-Sha256",
  validateSlackWebhook: "X-Slack-Signature",
  validateTwilioWebhook: "X-Twilio-Signature",
};

/** Statuses that functions of this package throw. */
const CALLED: Readonly<Record<string, number>> = {
  assertRowExists: 409,
  assertRowsExist: 409,
  validateSession: 401,
  validateSessionFromHeader: 401,
  expireSession: 401,
  validateWebhookSignature: 401,
  ...Object.fromEntries(Object.keys(SIGNATURES).map((name) => [name, 401])),
};

/** Keys of `constraints` that are answered with 400: values, checks and NOT NULL columns. */
const BAD_VALUE = /^22\d|^23(?:000|502|514)$|_check$|_not_null$/;

/** Place of the options among the arguments of definitions of queries. */
const QUERY_OPTIONS: Readonly<Record<string, number>> = {
  defineQuery: 0,
  definePreparedQuery: 0,
  defineStatement: 2,
};

/** A successful response that code can end with. */
export interface SuccessResponse {
  readonly status: number;
  /** True if the code gives it a body. */
  readonly hasBody: boolean;
  /** True if it is sent without being declared, by `undeclared`. */
  readonly isUndeclared: boolean;
  /** The schema of its body, if one is given that does not depend on the request. */
  readonly schema?: AnySchema;
}

/** The responses that code can end with. */
export interface ReachableResponses {
  /** Statuses of errors that are thrown. */
  readonly errors: ReadonlySet<number>;
  /** Responses with a status of errors that are returned. */
  readonly failures: readonly SuccessResponse[];
  /** Successful responses, in the order in which they were found. */
  readonly successes: readonly SuccessResponse[];
  /** Headers with signatures of webhooks that the code checks. */
  readonly signatures: ReadonlySet<string>;
  /** Created errors whose code is only known at run time. */
  readonly unknownErrors: ReadonlySet<AnyNode>;
}

function createFacts() {
  return {
    errors: new Set<number>(),
    failures: [] as SuccessResponse[],
    successes: [] as SuccessResponse[],
    signatures: new Set<string>(),
    unknownErrors: new Set<AnyNode>(),
    /** Names at the top level that the code uses. */
    next: [] as string[],
  };
}

type Facts = ReturnType<typeof createFacts>;

/**
 * Creates a reader of the responses that code of a bundle can end with: created errors of this
 * package, calls of its functions that throw, and `buildValidatedResponse` and `reply` with a literal
 * status. Names at the top level are followed. Conditional code counts like all other code.
 *
 * @returns The reader: returns the responses of nodes and of everything they refer to.
 */
export function createResponseReader(
  fn: LoadedFunction,
): (nodes: readonly AnyNode[]) => ReachableResponses {
  const { syntax } = fn;
  const uses = new Map(syntax.uses.map((use) => [use.node, use]));
  const names = new Map<AnyNode, string>();
  for (const name of syntax.declarations.keys()) {
    for (const reference of syntax.listReferences(name)) names.set(reference, name);
  }
  const imported = new Set(listImports(syntax.program).map(({ local }) => local));
  const queries = new Map<string, PlacedDefinition[]>();
  for (const definition of fn.list(...Object.keys(QUERY_OPTIONS))) {
    const name = fn.findName(definition);
    if (name !== undefined) queries.set(name, [...queries.get(name) ?? [], definition]);
  }
  const known = new Map<AnyNode, Facts>();

  function read(start: AnyNode): Facts {
    const found = known.get(start);
    if (found !== undefined) return found;
    const facts = createFacts();
    function visit(node: AnyNode): void {
      const name = names.get(node);
      if (name !== undefined) facts.next.push(name);
      const use = uses.get(node);
      if (use !== undefined) noteUse(use, facts);
      if (node.type === "NewExpression") noteError(node, facts);
      childrenOf(node).forEach(visit);
    }
    visit(start);
    known.set(start, facts);
    return facts;
  }

  function noteUse({ node, name, args }: PackageUse, facts: Facts): void {
    const { errors, successes, failures, signatures } = facts;
    if (Object.hasOwn(SIGNATURES, name)) signatures.add(SIGNATURES[name]);
    if (args === undefined) return;
    if (Object.hasOwn(CALLED, name)) errors.add(CALLED[name]);
    if (name !== "reply" && name !== "buildValidatedResponse") return;
    const [statusNode, body, schemaNode] = name === "reply" ? args.slice(0, 2) : args.slice(1);
    const status = statusNode?.type === "Literal" ? statusNode.value : undefined;
    if (typeof status !== "number") return;
    const hasBody = body !== undefined && !isUndefined(body);
    const schema = schemaNode && isOfModule(schemaNode) ? tryExecute(schemaNode) : undefined;
    const isUndeclared = isMarked(syntax.getParent(node));
    const response = { status, hasBody, isUndeclared, ...isSchema(schema) && { schema } };
    (status >= 400 ? failures : successes).push(response);
  }

  /** Checks for the argument of `undeclared`. */
  function isMarked(call: AnyNode | undefined): boolean {
    const outer = call && syntax.getParent(call);
    return outer?.type === "CallExpression" &&
      syntax.findExport(outer.callee)?.name === "undeclared";
  }

  function noteError(node: NewExpression, { errors, unknownErrors }: Facts): void {
    const { callee } = node;
    const type = syntax.findExport(callee) === undefined
      ? fn.evaluate(callee)
      : { isKnown: true, value: tryExecute(callee) } as const;
    if (!type.isKnown || typeof type.value !== "function" || !isErrorClass(type.value)) return;
    const args = node.arguments.map((argument) => {
      const given = fn.evaluate(argument);
      return given.isKnown ? given.value : UNKNOWN;
    });
    const status = readStatus(type.value, args);
    if (status === undefined) unknownErrors.add(node);
    else errors.add(status);
  }

  /** Checks whether an expression uses no variables of the function that contains it. */
  function isOfModule(node: AnyNode): boolean {
    if (node.type === "Identifier") {
      return names.has(node) || imported.has(node.name) || node.name === "undefined";
    }
    if (/Function|^(?:This|Await|Yield)Expression/.test(node.type)) return false;
    return childrenOf(node).every((child) =>
      child.type === "Identifier" && !isReference(child, node) || isOfModule(child)
    );
  }

  function tryExecute(node: AnyNode): unknown {
    try {
      return fn.execute(node);
    } catch {
      return undefined;
    }
  }

  return (nodes) => {
    const all = createFacts();
    const seen = new Set<string>();
    const pending: { node: AnyNode; name?: string }[] = nodes.map((node) => ({ node }));
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const { errors, successes, failures, signatures, unknownErrors, next } = read(at.node);
      errors.forEach((status) => all.errors.add(status));
      all.successes.push(...successes);
      all.failures.push(...failures);
      signatures.forEach((header) => all.signatures.add(header));
      unknownErrors.forEach((node) => all.unknownErrors.add(node));
      for (const definition of queries.get(at.name ?? "") ?? []) {
        listConstraintStatuses(definition).forEach((status) => all.errors.add(status));
      }
      for (const name of next) {
        if (seen.has(name)) continue;
        seen.add(name);
        pending.push({ node: syntax.declarations.get(name)!, name });
      }
    }
    return all;
  };
}

/** Lists the statuses of a query's `constraints`: 409 for unique constraints and foreign keys, 400 for others. */
function listConstraintStatuses({ name, args }: PlacedDefinition): number[] {
  const options = args[QUERY_OPTIONS[name]] as { constraints?: object } | undefined;
  return Object.keys(options?.constraints ?? {}).map((key) => BAD_VALUE.test(key) ? 400 : 409);
}

/** An argument that is only known at run time. */
const UNKNOWN = "only known at run time";

/** The error classes of this package. */
const OWN_CLASSES = new Set<unknown>(
  [...Object.values(httpErrors), ...Object.values(databaseErrors)].filter((value) =>
    typeof value === "function"
  ),
);

function isErrorClass(type: { readonly prototype?: unknown }): boolean {
  return type === AppError || type.prototype instanceof AppError;
}

/**
 * Creates an error as the code does, and returns its status. If the arguments that are known do not
 * suffice, the class of this package that it extends decides, unless that is `AppError`.
 */
function readStatus(type: unknown, args: readonly unknown[]): number | undefined {
  const status = tryStatus(type, args);
  if (status !== undefined) return status;
  let at = type;
  while (typeof at === "function" && !OWN_CLASSES.has(at)) at = Object.getPrototypeOf(at);
  return typeof at === "function" ? tryStatus(at, []) : undefined;
}

function tryStatus(type: unknown, args: readonly unknown[]): number | undefined {
  try {
    const error: unknown = Reflect.construct(type as new () => unknown, args);
    return isAppError(error) ? ERROR_CODES[error.code].status : undefined;
  } catch {
    return undefined;
  }
}

function isUndefined(node: AnyNode): boolean {
  return node.type === "Identifier" && node.name === "undefined" ||
    node.type === "UnaryExpression" && node.operator === "void";
}

/** Returns the line in which a definition starts. */
export function getDefinitionPlace(fn: LoadedFunction, definition: PlacedDefinition): Place {
  const call = fn.findCall(definition);
  return call === undefined ? definition.place : fn.getPlace(call);
}
