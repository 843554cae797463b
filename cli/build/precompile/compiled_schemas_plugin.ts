import type { Loader, Plugin } from "esbuild";
import { dirname, extname } from "node:path";
import { omitAuthImports } from "../auth_config_parts.ts";
import type { ModulePaths } from "../module_paths.ts";
import { resolveOwnModule } from "../trellis_import.ts";
import type { CompiledSchemas } from "./compile_schemas.ts";
import { COMPILED, renderCompiledModule } from "./schema_code.ts";
import type { SchemaModuleSource } from "./schema_module.ts";
import { LOADER, RUNTIME, SCHEMA_FILE, USED } from "./specifiers.ts";

const NAMESPACE = COMPILED.slice(0, -1);
/** The namespace of generated modules that all functions share. */
export const OWN_NAMESPACE = "trellis-build";

/** Loads synchronously, because validation is synchronous. */
const LOADER_CODE = `let schemas;
export function loadSchemas() {
  return schemas ??= process.getBuiltinModule("node:module")
    .createRequire(import.meta.url)("./${SCHEMA_FILE}");
}
`;

/** Replaces `validation/schema.ts`: the same functions, but zod is loaded when it is needed. */
const renderValidation = (extension: string): string =>
  `import { loadSchemas } from "${LOADER}";
import { createPrecompiledValidation } from "./precompiled_schema${extension}";
const validation = /* @__PURE__ */ createPrecompiledValidation(loadSchemas);
${
    ["createValidator", "getListKeys", "validateSchema", "validateSchemaAsync"].map((name) =>
      `export function ${name}(...parameters) { return validation.${name}(...parameters); }`
    ).join("\n")
  }
`;

/**
 * Creates a plugin that replaces the schemas of a project by compiled ones, and the validation of
 * `@trellis/fn` by one that loads zod when it is needed.
 *
 * @param options How modules belong to packages, and whether imports of the auth library are omitted.
 * @returns The plugin; it must precede plugins that load modules.
 */
export function compiledSchemasPlugin(
  schemas: CompiledSchemas,
  { paths, omitsAuth }: { readonly paths: ModulePaths; readonly omitsAuth: boolean },
): Plugin {
  const { sources, modules, trellis } = schemas;
  return {
    name: "compiled schemas",
    setup(build): void {
      build.onResolve({ filter: new RegExp(`^${COMPILED}`) }, ({ path }) => ({
        path: path.slice(COMPILED.length),
        namespace: NAMESPACE,
        sideEffects: false,
      }));
      build.onResolve({ filter: new RegExp(`^(?:${LOADER}|${USED})$`) }, ({ path }) => ({
        path,
        namespace: OWN_NAMESPACE,
        sideEffects: false,
      }));
      build.onResolve({ filter: new RegExp(`^${RUNTIME}$`) }, ({ kind }) => {
        const module = "validation/precompiled_schema";
        return resolveOwnModule(build, trellis, { paths, module, kind });
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: modules.get(path),
        loader: "js",
      }));
      build.onLoad({ filter: /.*/, namespace: OWN_NAMESPACE }, ({ path }) => ({
        contents: path === LOADER ? LOADER_CODE : "export const used = [];\n",
        loader: "js",
      }));
      build.onLoad({ filter: /[/\\]validation[/\\]schema\.[jt]s$/ }, ({ path }) => {
        if (paths.trellisRoot(path) === undefined) return undefined;
        return {
          contents: renderValidation(extname(path)),
          loader: "js",
          resolveDir: dirname(path),
        };
      });
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, ({ path }) => {
        const source = sources.modules.get(path);
        if (source === undefined || !hasSchemas(source)) return undefined;
        const contents = renderCompiledModule(source, ({ key }) => modules.has(key));
        return {
          // the plugin for modules with an auth configuration does not see this module
          contents: omitsAuth ? omitAuthImports(contents) ?? contents : contents,
          loader: extname(path).slice(1).replace(/^[cm]/, "") as Loader,
          resolveDir: dirname(path),
        };
      });
    },
  };
}

/** Checks for schemas. A CommonJS module cannot import compiled ones. */
function hasSchemas({ module, schemas, others }: SchemaModuleSource): boolean {
  return module.commonJs === undefined && schemas.length + others.length > 0;
}
