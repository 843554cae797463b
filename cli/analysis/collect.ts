import { load } from "./collect_call.ts";
import { collectClass } from "./collect_class.ts";
import { collectExpression } from "./collect_expression.ts";
import { collectFunction } from "./collect_function.ts";
import { describeRequiredConstant, getSubject, isRequiredConstant } from "./required_constants.ts";
import { collectStatements } from "./collect_statements.ts";
import { collectTarget } from "./collect_target.ts";
import type { Collector } from "./collector.ts";
import {
  DEFER,
  type Effect,
  isCall,
  NONE,
  type QueryDeclaration,
  type Unit,
  Units,
} from "./effects.ts";
import type { Evaluator } from "./values.ts";
import type { Project } from "./project.ts";
import type { SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";
import { createWrapperCheck } from "../project/wrapper_packages.ts";

/** Collects the effects of units and caches them. */
export interface Collection {
  readonly units: Units;
  readonly queries: readonly QueryDeclaration[];
  /** Returns the effects of a unit. They do not depend on who reaches it. */
  getEffects(unit: Unit): readonly Effect[];
  /** Returns the unit of an exported value; `undefined` if the module does not export it. */
  exportUnit(module: SourceModule, name: string): Unit | undefined;
}

/** Creates the collection of a project's effects. */
export function createCollection(project: Project, evaluator: Evaluator): Collection {
  const units = new Units();
  const wrapsTrellis = createWrapperCheck(project.root);
  const queries: QueryDeclaration[] = [];

  function getEffects(unit: Unit): readonly Effect[] {
    return unit.effects ??= collectUnit(unit);
  }

  function collectUnit({ node, path }: Unit): Effect[] {
    const effects: Effect[] = [];
    const c = createCollector(effects);
    if (ts.isSourceFile(node)) loadModule(c, node);
    else if (ts.isClassLike(node)) collectClass(c, node, path);
    else if (ts.isFunctionLike(node)) collectFunction(c, node as ts.FunctionLikeDeclaration, path);
    else c.use(node as ts.Expression, path);
    return effects;
  }

  function createCollector(effects: Effect[]): Collector {
    const c: Collector = {
      project,
      evaluator,
      units,
      wrapsTrellis,
      queries,
      emit: (effect) => void effects.push(effect),
      reach(node, path): void {
        const { unit, cut } = units.get(node, path);
        effects.push({ kind: "unit", unit });
        // a required constant is lost if the path to it is too long
        if (cut.length > 0) c.unknown(node, cut);
      },
      use: (expression, path) => collectExpression(c, expression, path),
      run: (node, result) => collectStatements(c, node, result),
      release(path): void {
        // the initializer of a module constant is collected when the constant is used
        if (path.at(-1) === DEFER) return;
        for (const step of path) {
          if (!isCall(step)) continue;
          for (const argument of step.call.arguments ?? []) {
            c.reach(ts.isSpreadElement(argument) ? argument.expression : argument, []);
          }
        }
      },
      unknown(node, path): void {
        const last = path.at(-1);
        if (isRequiredConstant(last)) {
          c.unresolved(
            node,
            `${describeRequiredConstant(c, last)} cannot be determined statically`,
            getSubject(last),
          );
        }
        c.release(path);
      },
      unresolved: (node, message, subject) =>
        void effects.push({ kind: "unresolved", node, message, subject }),
    };
    return c;
  }

  function exportUnit(module: SourceModule, name: string): Unit | undefined {
    const target = project.findExport(module, name);
    if (target.kind === "missing") return undefined;
    const effects: Effect[] = [];
    collectTarget(createCollector(effects), target, module.source, []);
    const holder = units.get(module.source, ["\0export", name]).unit;
    holder.effects = effects;
    return holder;
  }

  return { units, queries, getEffects, exportUnit };
}

/** Collects the evaluation of a file: its imports, then its statements. */
function loadModule(c: Collector, source: ts.SourceFile): void {
  for (const specifier of c.project.getModule(source).loads) load(c, specifier);
  for (const statement of source.statements) c.run(statement, [NONE]);
}
