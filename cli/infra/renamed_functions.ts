import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { relative } from "node:path/posix";
import type { InfraFunction, Problem } from "./infra_plan.ts";
import { snakeCase } from "../discovery/snake_case.ts";

/**
 * Finds functions whose names got a method because another file of the path was added. Terraform
 * would replace them.
 *
 * @param dir Absolute path of the generated files of the last run.
 * @param functionsDir Folder of the functions, relative to the project.
 */
export function findRenamedFunctions(
  functions: readonly InfraFunction[],
  dir: string,
  functionsDir: string,
): Problem[] {
  return functions.flatMap(({ name, shortName, source }): Problem[] => {
    if (shortName === undefined || !wasGenerated(dir, shortName, source)) return [];
    const entry = `${JSON.stringify(relative(functionsDir, source))}: ${JSON.stringify(shortName)}`;
    return [{
      functionName: name,
      message:
        `${shortName} is now called ${name}, because another method of its path has a file: ` +
        "Terraform replaces the function. To keep the name, add " +
        `functionNames: { ${entry} } to trellis.config.ts`,
    }];
  });
}

function wasGenerated(dir: string, name: string, source: string): boolean {
  const file = join(dir, `fn_${snakeCase(name)}.tf`);
  return existsSync(file) && readFileSync(file, "utf8").includes(`# ${name}: ${source}\n`);
}
