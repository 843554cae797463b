import { type FunctionResources, RESOURCE_CHECKS } from "../config/function_resources.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import { isObject } from "../config/settings.ts";
import type { Findings } from "../project/findings.ts";
import type { SourceValue } from "./read_infra.ts";

/** Name of the export beside a handler. */
const EXPORT = "infra";

/**
 * Adds the resources that a function's file exports as `infra`.
 *
 * @param errors Gets values that are invalid, or set in both places.
 * @returns The settings with the exported resources.
 */
export function addExportedResources(
  name: string,
  exported: SourceValue | undefined,
  settings: FunctionInfra,
  errors: Findings,
): FunctionInfra {
  if (exported === undefined) return settings;
  const { place, value } = exported;
  if (!isObject(value)) {
    const message = `the export ${EXPORT} cannot be determined statically: use literal values`;
    errors.add(name, [{ place, message }]);
    return settings;
  }
  const problems = Object.entries(value).flatMap(([key, each]) => {
    const message = findProblem(key, each, settings);
    return message === undefined ? [] : [{ place, message }];
  });
  errors.add(name, problems);
  return problems.length > 0 ? settings : { ...value as FunctionResources, ...settings };
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
