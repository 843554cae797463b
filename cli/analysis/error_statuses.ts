import { getBaseClass, getConstructor } from "./class_declarations.ts";
import { ERROR_CODES } from "../../errors/error_code.ts";
import { ts } from "./typescript.ts";
import { type Evaluator, isTrellis, type ScopedExpression, type Value } from "./values.ts";

/** Statuses of this package's errors by class name. */
const STATUSES: Readonly<Record<string, number>> = {
  ValidationError: 400,
  UnauthorizedError: 401,
  ForbiddenError: 403,
  NotFoundError: 404,
  MethodNotAllowedError: 405,
  ConflictError: 409,
  UniqueViolationError: 409,
  ForeignKeyViolationError: 409,
  PayloadTooLargeError: 413,
  UnsupportedMediaTypeError: 415,
  UnprocessableContentError: 422,
  TooManyRequestsError: 429,
  ServiceUnavailableError: 503,
};

/** The longest chain of classes that is followed. */
const MAX_CLASSES = 20;

/**
 * Returns the status of an error that an expression creates: of a class of this package, of
 * `new AppError("CODE")`, or of a class of the project that extends one of them.
 *
 * @returns The status; `"unknown"` for an `AppError` whose code is only known at run time;
 * `undefined` for other classes.
 */
export function readErrorStatus(
  evaluator: Evaluator,
  { expression, arguments: given }: ts.NewExpression,
): number | "unknown" | undefined {
  let value: Value = evaluator.evaluate(expression);
  let args: readonly ScopedExpression[] = given?.map((node) => ({ node })) ?? [];
  for (let count = 0; value.kind === "class" && count < MAX_CLASSES; count++) {
    const base = getBaseClass(value.node);
    if (base === undefined) return undefined;
    args = getBaseArguments(value.node, args);
    value = evaluator.evaluate(base);
  }
  if (value.kind !== "package" || !isTrellis(value.module)) return undefined;
  if (value.name !== "AppError") return STATUSES[value.name];
  const code = args.length === 0 ? undefined : evaluator.readText(args[0].node, args[0].bindings);
  return code !== undefined && Object.hasOwn(ERROR_CODES, code)
    ? ERROR_CODES[code as keyof typeof ERROR_CODES].status
    : "unknown";
}

/** Returns the arguments of `super(…)`; a class without a constructor passes its own on. */
function getBaseArguments(
  node: ts.ClassLikeDeclaration,
  given: readonly ScopedExpression[],
): readonly ScopedExpression[] {
  const constructor = getConstructor(node);
  if (constructor === undefined) return given;
  const call = findSuperCall(constructor.body!);
  const bindings = new Map(
    constructor.parameters.map((parameter, index) => [parameter, given[index]]),
  );
  return call?.arguments.map((node) => ({ node, bindings })) ?? [];
}

function findSuperCall(node: ts.Node): ts.CallExpression | undefined {
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword) return node;
  return ts.forEachChild(node, findSuperCall);
}
