import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { ts } from "../analysis/typescript.ts";
import { PROJECT_NAME } from "../config/infra.ts";

/**
 * The project's name, for names of resources: that of deno.json or package.json without its scope. The folder's name would not
 * do: it differs from machine to machine.
 *
 * @param root Absolute path of the project's folder.
 * @returns Lower-case letters, digits and hyphens.
 * @throws {ConfigurationError} When there is no name, or none can be made of it.
 */
export function readProjectName(root: string): string {
  const written = ["deno.json", "deno.jsonc", "package.json"].map((file) =>
    nameIn(join(root, file))
  );
  const given = written.find((name) => name !== undefined);
  if (given === undefined) {
    throw new ConfigurationError(
      "Nothing names the project: set name in deno.json or package.json, or infra.projectName in trellis.config.ts",
    );
  }
  const name = given.replace(/^@[^/]*\//, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(
    /^[^a-z]+|-$/g,
    "",
  );
  if (PROJECT_NAME.test(name)) return name;
  throw new ConfigurationError(
    `No project name of at most 32 lower-case letters, digits and hyphens can be made of "${given}": set infra.projectName ` +
      "in trellis.config.ts",
  );
}

function nameIn(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const { config } = ts.parseConfigFileTextToJson(path, readFileSync(path, "utf8"));
  return typeof config?.name === "string" && config.name !== "" ? config.name : undefined;
}
