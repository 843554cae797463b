import type { Plugin } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname, extname } from "node:path";
import { ts } from "../analysis/typescript.ts";
import type { ModulePaths } from "./module_paths.ts";
import { NO_BETTER_AUTH } from "./optional_parts.ts";

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

const LOADERS = { ".js": "js", ".mjs": "js", ".ts": "ts", ".mts": "ts" } as const;

/**
 * Creates a plugin for functions without better-auth. It omits the modules that the functions of an
 * auth configuration load with `import()`, such as plugins and the templates of mails.
 *
 * @returns The plugin; it must precede plugins that load modules.
 */
export function authConfigPlugin(paths: ModulePaths): Plugin {
  return {
    name: "auth configuration",
    setup(build): void {
      build.onLoad({ filter: /\.m?[jt]s$/, namespace: "file" }, ({ path }) => {
        if (paths.getPackage(path) !== undefined) return undefined;
        const contents = omitAuthImports(readFileSync(path, "utf8"));
        if (contents === undefined) return undefined;
        const loader = LOADERS[extname(path) as keyof typeof LOADERS];
        return { contents, loader, resolveDir: dirname(path) };
      });
    },
  };
}

/**
 * Replaces `import()` in the functions of an auth configuration by an error. A configuration is an
 * object literal with the keys `secret` and `baseURL`.
 *
 * @param code The source code of a module.
 * @returns The changed code, or `undefined` if there is nothing to replace.
 */
export function omitAuthImports(code: string): string | undefined {
  if (!["import(", ...REQUIRED].every((text) => code.includes(text))) return undefined;
  const file = ts.createSourceFile("module.ts", code, ts.ScriptTarget.Latest, true);
  const imports: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node) && isAuthConfig(node)) {
      for (const property of node.properties) {
        if (LIBRARY_OPTIONS.has(getName(property))) collectDeferred(property, imports);
      }
    } else {
      ts.forEachChild(node, visit);
    }
  };
  visit(file);
  if (imports.length === 0) return undefined;
  const error = `(() => { throw new Error(${JSON.stringify(NO_BETTER_AUTH)}); })()`;
  return imports.reduceRight(
    (text, node) => text.slice(0, node.getStart(file)) + error + text.slice(node.end),
    code,
  );
}

function isAuthConfig({ properties }: ts.ObjectLiteralExpression): boolean {
  const names = new Set(properties.map(getName));
  return REQUIRED.every((name) => names.has(name));
}

function getName({ name }: ts.ObjectLiteralElementLike): string | undefined {
  return name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name))
    ? name.text
    : undefined;
}

/** Collects the `import()` calls in functions: others run when the module is loaded. */
function collectDeferred(node: ts.Node, imports: ts.Node[], isDeferred = false): void {
  if (isDeferred && ts.isCallExpression(node) && isImport(node.expression)) {
    imports.push(node);
    return;
  }
  const inside = isDeferred || ts.isFunctionLike(node);
  ts.forEachChild(node, (child) => collectDeferred(child, imports, inside));
}

function isImport({ kind }: ts.Node): boolean {
  return kind === ts.SyntaxKind.ImportKeyword;
}
