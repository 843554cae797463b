import { readConstraintStatuses } from "./constraint_statuses.ts";
import { readErrorStatus } from "./error_statuses.ts";
import { type Evaluator, isTrellis } from "./values.ts";
import type { Project, Target } from "./project.ts";
import { findDeclaration } from "./scopes.ts";
import { ts } from "./typescript.ts";
import { visitValues } from "./value_references.ts";

/** Statuses that functions of this package throw. */
const CALLED: Readonly<Record<string, number>> = {
  assertRowExists: 409,
  assertRowsExist: 409,
  validateSession: 401,
  validateSessionFromHeader: 401,
  expireSession: 401,
  validateWebhookSignature: 401,
  validateCodeHostWebhook: 401,
  validateGitHubWebhook: 401,
  validatePaymentsWebhook: 401,
  validateStripeWebhook: 401,
  validateStandardWebhook: 401,
  validateShopifyWebhook: 401,
  validateSlackWebhook: 401,
  validateTwilioWebhook: 401,
};

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

/** A successful response that code can end with. */
export interface SuccessResponse {
  readonly status: number;
  /** True if the code gives it a body. */
  readonly hasBody: boolean;
  /** The schema of its body, if one is given that the module defines or imports. */
  readonly schema?: ts.Expression;
}

/** The responses that code can end with. */
export interface ReachableResponses {
  /** Statuses of errors. */
  readonly errors: ReadonlySet<number>;
  /** Successful responses, in the order in which they were found. */
  readonly successes: readonly SuccessResponse[];
  /** Headers with signatures of webhooks that the code checks. */
  readonly signatures: ReadonlySet<string>;
  /** Created errors whose code is only known at run time. */
  readonly unknownErrors: ReadonlySet<ts.Node>;
}

/** The responses of a declaration itself, and the nodes that it refers to. */
interface Facts extends ReachableResponses {
  readonly next: readonly ts.Node[];
}

/**
 * Creates a reader of the responses that code can end with: created errors of this package, calls
 * of its functions that throw, and `buildValidatedResponse` and `reply` with a literal status.
 * References are followed across files. Conditional code counts like all other code.
 *
 * @returns The reader: returns the responses of a node and of everything it refers to.
 */
export function createResponseReader(
  project: Project,
  evaluator: Evaluator,
): (node: ts.Node) => ReachableResponses {
  const known: Map<ts.Node, Facts> = new Map();

  function read(node: ts.Node): Facts {
    const found = known.get(node);
    if (found !== undefined) return found;
    const errors = new Set<number>();
    const successes: SuccessResponse[] = [];
    const signatures = new Set<string>();
    const unknownErrors = new Set<ts.Node>();
    const next: ts.Node[] = [];

    function noteError(callee: ts.Node): void {
      const { parent } = callee;
      if (!ts.isNewExpression(parent) || parent.expression !== callee) return;
      const status = readErrorStatus(evaluator, parent);
      if (status === "unknown") unknownErrors.add(parent);
      else if (status !== undefined) errors.add(status);
    }

    function follow(target: Target, at: ts.Node): void {
      if (target.kind === "expression") next.push(target.node);
      else if (target.kind === "declaration") {
        let { node: holder }: { node: ts.Node } = target;
        while (ts.isBindingElement(holder)) holder = holder.parent.parent;
        if (!ts.isParameter(holder)) next.push(holder);
      } else if (target.kind === "package" && isTrellis(target.module)) {
        if (Object.hasOwn(SIGNATURES, target.name)) signatures.add(SIGNATURES[target.name]);
        const response = getResponse(target.name, at);
        if (response === undefined) return;
        if (response.status >= 400) errors.add(response.status);
        else successes.push(response);
      }
    }
    function isOutside(name: ts.Identifier): boolean {
      const declaration = findDeclaration(name);
      return declaration !== undefined &&
        (declaration.getSourceFile() !== node.getSourceFile() || declaration.pos < node.pos ||
          declaration.end > node.end);
    }
    visitValues(node, {
      name(name): void {
        for (const status of readConstraintStatuses(name)) errors.add(status);
        noteError(name);
        if (isOutside(name)) follow(project.getTarget(name), name);
      },
      member(part): boolean {
        noteError(part);
        if (ts.isIdentifier(part.name)) {
          for (const status of readConstraintStatuses(part.name)) errors.add(status);
        }
        const owner = part.expression;
        if (!ts.isIdentifier(owner) || !isOutside(owner)) return false;
        const target = project.getTarget(owner);
        if (target.kind === "namespace") {
          follow(project.findExport(target.module, part.name.text), part);
        } else if (target.kind === "package" && target.name === "") {
          follow({ ...target, name: part.name.text }, part);
        } else return false;
        return true;
      },
      special: () => {},
    });
    const facts = { errors, successes, signatures, unknownErrors, next };
    known.set(node, facts);
    return facts;
  }

  return (node) => collectResponses(node, read);
}

/** Returns the responses of a node and of everything it refers to. */
function collectResponses(start: ts.Node, read: (node: ts.Node) => Facts): ReachableResponses {
  const seen = new Set<ts.Node>();
  const errors = new Set<number>();
  const successes: SuccessResponse[] = [];
  const signatures = new Set<string>();
  const unknownErrors = new Set<ts.Node>();
  const pending = [start];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const facts = read(at);
    for (const status of facts.errors) errors.add(status);
    successes.push(...facts.successes);
    for (const header of facts.signatures) signatures.add(header);
    for (const error of facts.unknownErrors) unknownErrors.add(error);
    pending.push(...facts.next);
  }
  return { errors, successes, signatures, unknownErrors };
}

function getResponse(name: string, at: ts.Node): SuccessResponse | undefined {
  const { parent } = at;
  if (!ts.isCallExpression(parent) || parent.expression !== at) return undefined;
  if (name === "reply") {
    return toResponse(readStatus(parent.arguments[0]), isGiven(parent.arguments[1]));
  }
  if (name !== "buildValidatedResponse") return toResponse(CALLED[name]);
  const response = toResponse(readStatus(parent.arguments[1]), isGiven(parent.arguments[2]));
  const schema = parent.arguments[3];
  return response !== undefined && schema !== undefined && isOfModule(schema)
    ? { ...response, schema }
    : response;
}

function toResponse(status: number | undefined, hasBody = true): SuccessResponse | undefined {
  return status === undefined ? undefined : { status, hasBody };
}

function isGiven(argument: ts.Expression | undefined): boolean {
  return argument !== undefined &&
    !(ts.isIdentifier(argument) && argument.text === "undefined");
}

function readStatus(node: ts.Expression | undefined): number | undefined {
  return node !== undefined && ts.isNumericLiteral(node) ? Number(node.text) : undefined;
}

/** Checks whether an expression uses no variables of the function that contains it. */
function isOfModule(expression: ts.Expression): boolean {
  let isFree = true;
  visitValues(expression, {
    name(name): void {
      const declaration = findDeclaration(name);
      if (declaration === undefined) isFree &&= name.text !== "undefined";
      else isFree &&= isVisibleFrom(declaration.parent, expression);
    },
    member: () => false,
    special: () => isFree = false,
  });
  return isFree;
}

/** Checks whether a declaration's parent is within an expression or outside of all functions. */
function isVisibleFrom(parent: ts.Node, expression: ts.Expression): boolean {
  for (let node = parent; node !== undefined; node = node.parent) {
    if (node === expression) return true;
    if (ts.isFunctionLike(node)) return false;
  }
  return true;
}
