import { ConfigurationError } from "../../errors/http_errors.ts";
import { PROJECT_NAME } from "../config/infra.ts";
import { findManifestText } from "../files/manifest_text.ts";

/**
 * Reads the project name for resource names: the name in deno.json or package.json without its
 * scope. The folder's name is not used because it differs between machines.
 *
 * @returns Lower-case letters, digits and hyphens.
 * @throws {ConfigurationError} If there is no name, or it cannot be converted.
 */
export function readProjectName(root: string): string {
  const given = findManifestText(root, "name");
  if (given === undefined) {
    throw new ConfigurationError(
      "The project has no name: set name in deno.json or " +
        "package.json, or infra.projectName in trellis.config.ts",
    );
  }
  const name = given.replace(/^@[^/]*\//, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(
    /^[^a-z]+|-$/g,
    "",
  );
  if (PROJECT_NAME.test(name)) return name;
  throw new ConfigurationError(
    `"${given}" cannot be converted to a project name of at most 32 lower-case letters, digits ` +
      `and hyphens: set infra.projectName ` +
      "in trellis.config.ts",
  );
}
