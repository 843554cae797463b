import type { InfraFunction, Problem } from "./infra_plan.ts";

/** Lambda's longest timeout. Migrations that need longer continue in the next invocation. */
const TIMEOUT_SECONDS = 900;

/** Checks whether a function applies migrations and grants. */
export function isMigrationFunction({ definer }: Pick<InfraFunction, "definer">): boolean {
  return definer === "defineMigrationHandler";
}

/**
 * Finds the function that applies migrations and grants.
 *
 * @returns The function; `undefined` if the command line applies them.
 */
export function findMigrationFunction(
  functions: readonly InfraFunction[],
): InfraFunction | undefined {
  return functions.find(isMigrationFunction);
}

/** Arguments of the function module: one run at a time, and no repetition by Lambda itself. */
export function getMigrationArguments(fn: InfraFunction): Record<string, number> {
  if (!isMigrationFunction(fn)) return {};
  return {
    timeout: fn.options.timeout ?? TIMEOUT_SECONDS,
    reserved_concurrent_executions: 1,
    maximum_retry_attempts: 0,
  };
}

/** Finds migration functions beside the first one. */
export function findMigrationErrors(functions: readonly InfraFunction[]): Problem[] {
  const [first, ...others] = functions.filter(isMigrationFunction);
  return others.map(({ name }) => ({
    message: `${name} is a second migration function beside ${first.name}: remove one, so that ` +
      "trellis deploy knows which to invoke",
    functionName: name,
  }));
}
