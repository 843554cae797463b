import type { SourceEditor } from "../sources/edited_sources.ts";
import type { ModulePaths } from "../sources/module_paths.ts";
import { NO_BETTER_AUTH } from "./optional_parts.ts";
import {
  type AnyNode,
  childrenOf,
  type Edit,
  getMemberName,
  visitNodes,
} from "../sources/syntax.ts";

/** Keys that a configuration of sign-in must have. */
const REQUIRED = ["baseURL", "secret"];

/** Options of `AuthConfig` whose functions are only called after better-auth was loaded. */
const LIBRARY_OPTIONS: ReadonlySet<string | undefined> = new Set([
  "account",
  "databaseHooks",
  "emailAndPassword",
  "emailVerification",
  "hooks",
  "mail",
  "plugins",
  "socialProviders",
  "user",
]);

/**
 * Creates the editor for functions without better-auth. It omits the modules that the functions of an
 * auth configuration load with `import()`, such as plugins and the templates of mails.
 */
export function authConfigEditor(paths: ModulePaths): SourceEditor {
  return {
    wants: (path, text) =>
      ["import(", ...REQUIRED].every((each) => text.includes(each)) &&
      paths.getPackage(path) === undefined,
    edit: ({ program }) => ({ edits: omitAuthImports(program) }),
  };
}

/**
 * Replaces `import()` in the functions of an auth configuration by an error. A configuration is an
 * object literal with the keys `secret` and `baseURL`.
 *
 * @param program The module.
 * @returns The changes.
 */
export function omitAuthImports(program: AnyNode): Edit[] {
  const text = `(() => { throw new Error(${JSON.stringify(NO_BETTER_AUTH)}); })()`;
  const edits: Edit[] = [];
  visitNodes(program, (node) => {
    if (node.type !== "ObjectExpression") return;
    const names = new Set(node.properties.map(getMemberName));
    if (!REQUIRED.every((name) => names.has(name))) return;
    for (const property of node.properties) {
      if (!LIBRARY_OPTIONS.has(getMemberName(property))) continue;
      for (const { start, end } of listDeferredImports(property)) edits.push({ start, end, text });
    }
    return false;
  });
  return edits;
}

/** Lists the `import()` calls in functions: others run when the module is loaded. */
function listDeferredImports(node: AnyNode, isDeferred = false): AnyNode[] {
  if (isDeferred && node.type === "ImportExpression") return [node];
  const inside = isDeferred || /Function/.test(node.type);
  return [...childrenOf(node)].flatMap((child) => listDeferredImports(child, inside));
}
