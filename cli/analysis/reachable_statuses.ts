import { readConstraintStatuses } from "./constraint_statuses.ts";
import { isTrellis } from "./values.ts";
import type { Project, Target } from "./project.ts";
import { findDeclaration } from "./scopes.ts";
import { ts } from "./typescript.ts";
import { visitValues } from "./value_references.ts";

/** Statuses of this package's errors by class name. */
const THROWN: Readonly<Record<string, number>> = {
  ValidationError: 400,
  UnauthorizedError: 401,
  ForbiddenError: 403,
  NotFoundError: 404,
  ConflictError: 409,
  UniqueViolationError: 409,
  ForeignKeyViolationError: 409,
  PayloadTooLargeError: 413,
  UnsupportedMediaTypeError: 415,
  TooManyRequestsError: 429,
  ServiceUnavailableError: 503,
};

/** Statuses that functions of this package throw. */
const CALLED: Readonly<Record<string, number>> = {
  assertRowExists: 409,
  assertRowsExist: 409,
  validateSession: 401,
  validateSessionFromHeader: 401,
  expireSession: 401,
  validateWebhookSignature: 401,
  validateCodeHostWebhook: 401,
  validatePaymentsWebhook: 401,
  validateStandardWebhook: 401,
};

/** The statuses of a declaration itself, and the nodes that it refers to. */
interface Facts {
  readonly statuses: ReadonlySet<number>;
  readonly next: readonly ts.Node[];
}

/**
 * Creates a reader of the error statuses that code can end with: created errors of this package,
 * calls of its functions that throw, and responses with a literal status. References are followed
 * across files. Conditional code counts like all other code.
 *
 * @param project The sources.
 * @returns The reader: returns the statuses of a node and of everything it refers to.
 */
export function createStatusReader(project: Project): (node: ts.Node) => Set<number> {
  const known: Map<ts.Node, Facts> = new Map();

  function read(node: ts.Node): Facts {
    const found = known.get(node);
    if (found !== undefined) return found;
    const statuses = new Set<number>();
    const next: ts.Node[] = [];

    function follow(target: Target, at: ts.Node): void {
      if (target.kind === "expression") next.push(target.node);
      else if (target.kind === "declaration") {
        let { node: holder }: { node: ts.Node } = target;
        while (ts.isBindingElement(holder)) holder = holder.parent.parent;
        if (!ts.isParameter(holder)) next.push(holder);
      } else if (target.kind === "package" && isTrellis(target.module)) {
        const status = getStatus(target.name, at);
        if (status !== undefined) statuses.add(status);
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
        for (const status of readConstraintStatuses(name)) statuses.add(status);
        if (isOutside(name)) follow(project.getTarget(name), name);
      },
      member(part): boolean {
        if (ts.isIdentifier(part.name)) {
          for (const status of readConstraintStatuses(part.name)) statuses.add(status);
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
    const facts = { statuses, next };
    known.set(node, facts);
    return facts;
  }

  return function getStatuses(node): Set<number> {
    const seen = new Set<ts.Node>();
    const statuses = new Set<number>();
    const pending = [node];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const facts = read(at);
      for (const status of facts.statuses) statuses.add(status);
      pending.push(...facts.next);
    }
    return statuses;
  };
}

function getStatus(name: string, at: ts.Node): number | undefined {
  const { parent } = at;
  if (ts.isNewExpression(parent) && parent.expression === at) return THROWN[name];
  if (!ts.isCallExpression(parent) || parent.expression !== at) return undefined;
  if (name !== "buildValidatedResponse") return CALLED[name];
  const status = parent.arguments[1];
  return status !== undefined && ts.isNumericLiteral(status) && Number(status.text) >= 400
    ? Number(status.text)
    : undefined;
}
