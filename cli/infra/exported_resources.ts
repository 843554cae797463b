import type { Findings } from "../analysis/findings.ts";
import type { Project } from "../analysis/project.ts";
import { ts } from "../analysis/typescript.ts";
import type { Evaluator } from "../analysis/values.ts";
import { type FunctionResources, RESOURCE_CHECKS } from "../config/function_resources.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import { isObject } from "../config/settings.ts";
import type { FunctionFile } from "../discovery/function_files.ts";

/** Name of the export beside a handler. */
const EXPORT = "infra";

/**
 * Reads the resources that a function's file exports as `infra`.
 *
 * @param errors Gets values that are invalid, or set in both places.
 * @returns The settings with the exported resources.
 */
export function addExportedResources(
  project: Project,
  evaluator: Evaluator,
  { file, name }: FunctionFile,
  settings: FunctionInfra,
  errors: Findings,
): FunctionInfra {
  const module = project.read(file);
  if (!module.exports.has(EXPORT)) return settings;
  const node = findInitializer(module.source) ?? module.source;
  const literal = ts.isSourceFile(node) ? undefined : evaluator.read(node);
  if (literal?.kind !== "known" || !isObject(literal.value)) {
    const at = literal?.kind === "unknown" ? literal.node : node;
    errors.add(
      at,
      `the export ${EXPORT} cannot be determined statically: use literal values`,
      name,
    );
    return settings;
  }
  const problems = Object.entries(literal.value).map(([key, value]) =>
    findProblem(key, value, settings)
  ).filter((problem) => problem !== undefined);
  for (const problem of problems) errors.add(node, problem, name);
  return problems.length > 0 ? settings : { ...literal.value as FunctionResources, ...settings };
}

function findProblem(key: string, value: unknown, settings: FunctionInfra): string | undefined {
  if (!Object.hasOwn(RESOURCE_CHECKS, key)) {
    const known = Object.keys(RESOURCE_CHECKS).join(", ");
    return `the export ${EXPORT} has no setting ${key}; it has ${known}`;
  }
  const [what, check] = RESOURCE_CHECKS[key as keyof FunctionResources];
  if (!check(value)) return `${EXPORT}.${key} must be ${what}, got ${JSON.stringify(value)}`;
  return settings[key as keyof FunctionResources] === undefined
    ? undefined
    : `${EXPORT}.${key} is also set in the configuration: remove one of them`;
}

/** Finds the value of `export const infra = …`. */
function findInitializer(source: ts.SourceFile): ts.Expression | undefined {
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (ts.isIdentifier(name) && name.text === EXPORT) return initializer;
    }
  }
  return undefined;
}
