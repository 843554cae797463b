import type { Plugin } from "esbuild";
import { dirname, extname } from "node:path";
import type { SourceEditor } from "../../sources/edited_sources.ts";
import type { ModulePaths } from "../../sources/module_paths.ts";
import { resolveOwnModule } from "../../sources/trellis_import.ts";
import type { CompiledSchemas } from "./compile_schemas.ts";
import { COMPILED, LOADER, RUNTIME, SCHEMA_FILE } from "./specifiers.ts";
import { loadGenerated } from "../generated_modules.ts";

const NAMESPACE = COMPILED.slice(0, -1);
const OWN_NAMESPACE = "trellis-build";

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

/** Creates the editor that replaces the schemas of a project by compiled ones. */
export function compiledSchemasEditor(
  { labels, modules, omittable }: CompiledSchemas,
): SourceEditor {
  return labels.createCompiledEditor(
    (label) =>
      modules.has(labels.getKey(label))
        ? "compiled"
        : omittable.has(label)
        ? "omittable"
        : undefined,
    (label, name) =>
      `import { schema as ${name} } from ${JSON.stringify(COMPILED + labels.getKey(label))};`,
  );
}

/**
 * Creates a plugin with the compiled schemas, which replaces the validation of `@trellis/fn` by a
 * variant that loads zod only when it is needed.
 *
 * @param paths How modules belong to packages.
 * @returns The plugin; it must precede plugins that load modules.
 */
export function compiledSchemasPlugin(
  { modules, trellis }: CompiledSchemas,
  paths: ModulePaths,
): Plugin {
  return {
    name: "compiled schemas",
    setup(build): void {
      build.onResolve({ filter: new RegExp(`^${COMPILED}`) }, ({ path }) => ({
        path: path.slice(COMPILED.length),
        namespace: NAMESPACE,
        sideEffects: false,
      }));
      build.onResolve({ filter: new RegExp(`^${LOADER}$`) }, ({ path }) => ({
        path,
        namespace: OWN_NAMESPACE,
        sideEffects: false,
      }));
      build.onResolve({ filter: new RegExp(`^${RUNTIME}$`) }, ({ kind }) => {
        const module = "validation/precompiled_schema";
        return resolveOwnModule(build, trellis, { paths, module, kind });
      });
      loadGenerated(build, NAMESPACE, (path) => modules.get(path));
      loadGenerated(build, OWN_NAMESPACE, () => LOADER_CODE);
      build.onLoad({ filter: /[/\\]validation[/\\]schema\.[jt]s$/ }, ({ path }) => {
        if (paths.trellisRoot(path) === undefined) return undefined;
        return {
          contents: renderValidation(extname(path)),
          loader: "js",
          resolveDir: dirname(path),
        };
      });
    },
  };
}
