import type { Project } from "../../analysis/project.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { visitValues } from "../../analysis/value_references.ts";
import type { ChangedConstants } from "../precompile_queries/changed_constants.ts";
import { isDrizzleImport } from "./drizzle_imports.ts";
import { findEffect } from "./effects.ts";

/** A constant of a module with its value. */
export type Constant = ts.VariableDeclaration & { readonly initializer: ts.Expression };

/**
 * Finds the constants of a module that need drizzle, such as tables and parts of statements, and whose
 * evaluation changes nothing.
 */
export function findConstants(
  project: Project,
  { source }: SourceModule,
  changed: ChangedConstants,
): Constant[] {
  return source.statements.filter(ts.isVariableStatement)
    .filter(({ declarationList }) => (declarationList.flags & ts.NodeFlags.Const) !== 0)
    .flatMap(({ declarationList }) => [...declarationList.declarations])
    .filter((each): each is Constant =>
      isConstant(each) && reachesDrizzle(project, each, changed) &&
      changed.find(each) === undefined && !reachesEffect(each, changed)
    );
}

function isConstant({ name, initializer }: ts.VariableDeclaration): boolean {
  if (initializer === undefined) return false;
  const value = unwrap(initializer);
  if (ts.isFunctionLike(value) || ts.isClassLike(value)) return false;
  return ts.isIdentifier(name) || isPlainPattern(name);
}

/** Returns true for `{ a, ...rest }`: no defaults, no computed keys, no patterns within. */
function isPlainPattern(name: ts.BindingPattern): boolean {
  return ts.isObjectBindingPattern(name) &&
    name.elements.every((each) =>
      ts.isIdentifier(each.name) && each.initializer === undefined &&
      (each.propertyName === undefined || !ts.isComputedPropertyName(each.propertyName))
    );
}

function reachesDrizzle(project: Project, node: ts.Node, changed: ChangedConstants): boolean {
  for (const reached of changed.reach(node)) {
    let found = false;
    const check = (name: ts.Expression): boolean => found ||= isDrizzleImport(project, name);
    visitValues(reached, { name: (name) => void check(name), member: check, special: () => {} });
    if (found) return true;
  }
  return false;
}

function reachesEffect(node: ts.Node, changed: ChangedConstants): boolean {
  for (const reached of changed.reach(node)) {
    if (findEffect(reached) !== undefined) return true;
  }
  return false;
}
