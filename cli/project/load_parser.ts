import { explainMissing } from "../../env/optional_package.ts";
import { CLI_PACKAGES } from "../optional_packages.ts";
import type { AnyNode } from "./syntax_nodes.ts";

/** Parses a module of JavaScript. */
export type Parser = (code: string) => AnyNode;

/**
 * Loads acorn, an optional peer dependency of the npm package.
 *
 * @throws {ConfigurationError} If it is not installed; the message contains the install command.
 */
export async function loadParser(): Promise<Parser> {
  const { parse } = await import("acorn").catch(
    explainMissing(CLI_PACKAGES, "acorn", "trellis generate permissions"),
  );
  return (code) =>
    parse(code, { ecmaVersion: "latest", sourceType: "module" }) as unknown as AnyNode;
}
