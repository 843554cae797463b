import { type Evaluator, isTrellis } from "./evaluate.ts";
import {
  createLiteralReader,
  type Lead,
  type Literal,
  type LiteralReader,
  type Place,
} from "./literals.ts";
import type { Project } from "./project.ts";
import { ts, unwrap } from "./typescript.ts";

/** How a file's `handler` is made. */
export interface HandlerDefinition {
  /**
   * The package's function that makes it: `defineApiHandler`, `createAuthHandler`; none when the handler is something else,
   * or its text does not tell: then `unresolved` has an entry.
   */
  readonly definer?: string;
  /** The expression that makes it; the file itself when it exports no handler. */
  readonly node: ts.Node;
  /** The line of `node`, from 1. */
  readonly line: number;
  /** The options, where they are an object literal; also through names and wrappers. */
  readonly options?: ts.ObjectLiteralExpression;
  /** What cannot be told from the text: any option may be set there. */
  readonly unresolved: readonly { readonly node: ts.Node; readonly message: string }[];
  /** The expression that an option is given, at the end of all names; `undefined` when it is not given or cannot be told. */
  getExpression(option: string): ts.Expression | undefined;
  /** The value of an option; `undefined` when it is not given. */
  getLiteral(option: string): Literal | undefined;
}

/** Where the package's functions take their options; those of `define…Handler` come first, and a call takes the function. */
const OPTIONS_AT: Readonly<Record<string, number>> = { createAuthHandler: 1, withObservability: 1 };

/** A wrapper around a wrapper, as deep as anyone writes it. */
const MAX_WRAPPERS = 20;

interface Found {
  readonly definer?: string;
  readonly node: ts.Node;
  /** The argument; none when it is left out. */
  readonly options?: Place;
  readonly message?: string;
}

/**
 * Finds out from a file's text how its `handler` is made, and with which options: through re-exports, names, spreads and
 * wrappers such as `const api = (options) => defineApiHandler({ ...options, auth: "session" })`. Nothing is run.
 *
 * @param project The sources.
 * @param evaluator The constants.
 * @param file Absolute path of the function's file.
 * @returns The definition. It reads options when it is asked for them.
 *
 * @example
 * ```ts ignore
 * const { definer, getLiteral } = readHandlerDefinition(project, evaluator, "/app/src/functions/api/notes.get.ts");
 * const auth = getLiteral("auth");
 * ```
 */
export function readHandlerDefinition(
  project: Project,
  evaluator: Evaluator,
  file: string,
): HandlerDefinition {
  const reader = createLiteralReader(project);
  const found = find(project, evaluator, reader, file);
  const lead: Lead | undefined = found.options && reader.follow(found.options);
  const options = lead?.kind === "place" && ts.isObjectLiteralExpression(lead.node)
    ? { node: lead.node, bindings: lead.bindings }
    : undefined;
  const unresolved: { node: ts.Node; message: string }[] = [];
  if (found.message !== undefined) unresolved.push({ node: found.node, message: found.message });
  if (options !== undefined) {
    const hidden = reader.getProperty(options, NO_OPTION);
    if (hidden !== undefined && "unknown" in hidden) {
      unresolved.push({
        node: hidden.unknown,
        message: `options of ${found.definer} cannot be told from the text`,
      });
    }
  } else if (found.options !== undefined && lead?.kind !== "undefined") {
    unresolved.push({
      node: found.options.node,
      message: `the options of ${found.definer} cannot be told from the text`,
    });
  }

  const getProperty = (option: string) => options && reader.getProperty(options, option);
  return {
    definer: found.definer,
    node: found.node,
    line: project.getLine(found.node),
    options: options?.node,
    unresolved,
    getExpression(option): ts.Expression | undefined {
      const property = getProperty(option);
      if (property === undefined || "unknown" in property) return undefined;
      const end = reader.follow(property);
      return end.kind === "place" ? end.node : end.kind === "undefined" ? undefined : property.node;
    },
    getLiteral(option): Literal | undefined {
      if (options === undefined) {
        return unresolved.length > 0 ? { kind: "unknown", node: unresolved[0].node } : undefined;
      }
      const property = getProperty(option);
      if (property === undefined) return undefined;
      if ("unknown" in property) return { kind: "unknown", node: property.unknown };
      const literal = reader.read(property);
      return literal.kind === "known" && literal.value === undefined ? undefined : literal;
    },
  };
}

/** No object has it, so that looking for it meets every spread. */
const NO_OPTION = "\0";

function find(project: Project, evaluator: Evaluator, reader: LiteralReader, file: string): Found {
  const module = project.read(file);
  const target = project.exportOf(module, "handler");
  if (target.kind === "missing") {
    return {
      node: module.source,
      message: "the file exports no handler: export const handler = defineApiHandler({ … })(…)",
    };
  }
  if (target.kind === "expression") return ofPlace({ node: target.node }, 0);
  if (target.kind !== "declaration") return { node: module.source, message: UNTOLD };
  const { node } = target;
  if (ts.isFunctionDeclaration(node) || ts.isClassLike(node)) return { node };
  if (!ts.isVariableDeclaration(node) || node.initializer === undefined) {
    return { node, message: UNTOLD };
  }
  return (node.parent.flags & ts.NodeFlags.Const) === 0
    ? {
      node,
      message:
        "the handler is declared with let: it may be another one when it is called. Use const",
    }
    : ofPlace({ node: node.initializer }, 0);

  function ofPlace(place: Place, wrappers: number): Found {
    const lead = reader.follow(place);
    if (lead.kind === "function") return { node: lead.node };
    if (lead.kind !== "place") return { node: place.node, message: UNTOLD };
    if (!ts.isCallExpression(lead.node) || wrappers > MAX_WRAPPERS) {
      return { node: lead.node, message: UNTOLD };
    }
    return ofCall({ node: lead.node, bindings: lead.bindings }, wrappers);
  }

  function ofCall(
    { node, bindings }: Place & { readonly node: ts.CallExpression },
    wrappers: number,
  ): Found {
    const direct = ourFunction(node.expression, bindings);
    if (direct !== undefined) {
      // define…Handler gives a function that takes the user's; its result is the handler
      if (!Object.hasOwn(OPTIONS_AT, direct)) return { node, message: UNTOLD };
      return { definer: direct, node, options: argument(node, OPTIONS_AT[direct], bindings) };
    }
    const maker = reader.follow({ node: node.expression, bindings });
    if (maker.kind === "place" && ts.isCallExpression(maker.node)) {
      const definer = ourFunction(maker.node.expression, maker.bindings);
      if (definer !== undefined && /^define\w+Handler$/.test(definer)) {
        return { definer, node, options: argument(maker.node, 0, maker.bindings) };
      }
    }
    // what wraps a handler of ours, such as an error tracker, leaves its options as they are
    for (const each of node.arguments) {
      const inner = ts.isSpreadElement(each)
        ? undefined
        : ofPlace({ node: each, bindings }, wrappers + 1);
      if (inner?.definer !== undefined) return inner;
    }
    return isOfAnotherPackage(node, bindings) ? { node } : { node, message: UNTOLD };
  }

  /** `middy(run).use(guard)` */
  function isOfAnotherPackage(node: ts.Expression, bindings: Place["bindings"]): boolean {
    let root = node;
    while (ts.isCallExpression(root) || ts.isPropertyAccessExpression(root)) {
      root = unwrap(root.expression);
    }
    const lead = reader.follow({ node: root, bindings });
    if (lead.kind === "package") return !isTrellis(lead.module);
    return lead.kind === "place" && lead.node !== root &&
      isOfAnotherPackage(lead.node, lead.bindings);
  }

  function ourFunction(callee: ts.Expression, bindings: Place["bindings"]): string | undefined {
    const lead = reader.follow({ node: callee, bindings });
    if (lead.kind === "package") return isTrellis(lead.module) ? lead.name : undefined;
    const value = evaluator.evaluate(callee);
    return value.kind === "package" && isTrellis(value.module) ? value.name : undefined;
  }
}

const UNTOLD =
  "how the handler is made cannot be told from the text: write export const handler = define…Handler({ … })(…)";

function argument(
  node: ts.CallExpression,
  index: number,
  bindings: Place["bindings"],
): Place | undefined {
  const given = node.arguments[index] as ts.Expression | undefined;
  return given && { node: given, bindings };
}
