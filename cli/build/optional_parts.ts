import type { Plugin } from "esbuild";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { getPackageName, toBareSpecifier } from "../sources/package_specifier.ts";
import type { BuildSettings } from "../config/build.ts";
import type { ModulePaths } from "../sources/module_paths.ts";
import { DEPLOYABLE, type Needs } from "./needs.ts";
import { loadGenerated } from "./generated_modules.ts";

const NAMESPACE = "omitted";
/** Modules of `@trellis/fn` that only run with better-auth, and their exports. */
const LIBRARY_MODULES: Readonly<Record<string, string>> = {
  better_auth: "startBetterAuth",
  better_auth_options: "toBetterAuthOptions",
};
/** Plugins of better-auth, which `AuthConfig.plugins` loads with `import()`. */
const PLUGIN_NAMESPACE = "omitted-plugin";

/** Checks of `defineAuth` that no handler asks for. */
const CHECK_NAMESPACE = "omitted-check";

/** The optional parts in a bundle. */
export interface Parts extends Pick<Needs, "apiKeys" | "betterAuth" | "jwt" | "providers"> {
  /** Whether the AWS SDK is in the bundle or comes from the Lambda runtime. */
  readonly awsSdk: "bundle" | "runtime";
}

/** Packages that read files next to their code, which a bundle does not contain. */
const NEVER_BUNDLED = ["@electric-sql/pglite", "libpg-query"] as const;

/** Checks whether a package is not bundled, for the module that imports it. */
export type ExternalCheck = (name: string, importer?: string) => boolean;

const SDK_MODULE = /[/\\]@aws-sdk[/\\]/;

/**
 * Creates a check for packages that are not bundled.
 *
 * @param configured Package names; `@aws-sdk/*` matches all packages of a scope.
 * @param awsSdk Where the function finds the AWS SDK. What a bundled part of it imports is bundled too.
 */
export function createExternalCheck(
  configured: readonly string[],
  awsSdk: Parts["awsSdk"] = "bundle",
): ExternalCheck {
  const external = [...configured, ...NEVER_BUNDLED];
  return (name, importer = "") =>
    external.some((each) =>
      each === name || (each.endsWith("/*") && name.startsWith(each.slice(0, -1)))
    ) || awsSdk === "runtime" && isInRuntime(name) && !SDK_MODULE.test(importer);
}

/** Checks for a package of the AWS SDK but a signer: Lambda's runtime is not known to have all signers. */
function isInRuntime(name: string): boolean {
  return name.startsWith("@aws-sdk/") && !name.endsWith("-signer");
}

/** Packages that load native code for others. */
const NATIVE_LOADERS =
  /^(?:bindings|(?:@mapbox\/)?node-pre-gyp|node-gyp-build(?:-optional-packages)?|prebuild-install)$/;
/** Matches packages with the native code of one platform, such as `@img/sharp-linux-x64`. */
const NATIVE_PARTS = /linux[-_](?:x64|arm64)|(?:x64|arm64)[-_]linux/;

/** Checks whether a package loads native code, which a bundle does not contain. */
export function isNativePackage(folder: string): boolean {
  if (existsSync(join(folder, "binding.gyp"))) return true;
  const file = join(folder, "package.json");
  if (!existsSync(file)) return false;
  const { gypfile, dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(file, "utf8"),
  );
  return gypfile === true || Object.keys(dependencies).some((name) => NATIVE_LOADERS.test(name)) ||
    Object.keys(optionalDependencies).some((name) => NATIVE_PARTS.test(name));
}

/**
 * Selects the optional parts of a function.
 *
 * @param needs The needs found in its sources.
 * @returns The parts. PGlite is only included if configured: it reads files next to its own code.
 */
export function selectParts(
  name: string,
  needs: Needs,
  { databaseProviders, betterAuth = [], awsSdk }: Pick<
    BuildSettings,
    "awsSdk" | "betterAuth" | "databaseProviders"
  >,
): Parts {
  const found = needs.anyProvider
    ? DEPLOYABLE
    : needs.providers.filter((provider) => provider !== "embedded-pg");
  return {
    providers: databaseProviders ?? found,
    betterAuth: needs.betterAuth || betterAuth.some((each) => each === name || each === "*"),
    apiKeys: needs.apiKeys,
    jwt: needs.jwt,
    // only the runtimes that AWS manages are known to have it
    awsSdk: awsSdk ?? (needs.hasImage ? "bundle" : "runtime"),
  };
}

/** Options of {@link optionalPartsPlugin}. */
export interface OptionalPartsOptions extends Omit<Parts, "awsSdk" | "providers"> {
  readonly paths: ModulePaths;
  readonly isExternal: ExternalCheck;
}

/**
 * Creates a plugin that keeps external packages as imports, and omits the auth library if the
 * function does not need it. Using it then throws an error with the reason.
 *
 * @returns The plugin; it must precede resolving plugins.
 */
export function optionalPartsPlugin(options: OptionalPartsOptions): Plugin {
  const { betterAuth, apiKeys, jwt, paths, isExternal } = options;
  return {
    name: "optional parts",
    setup(build): void {
      build.onResolve({ filter: /^[^./]/ }, ({ path, kind, importer }) => {
        const name = toBareSpecifier(path);
        return kind !== "entry-point" && isExternal(getPackageName(name), importer)
          ? { path: name, external: true }
          : undefined;
      });
      build.onResolve({ filter: /^\.\/better_auth(?:_options)?\.[jt]s$/ }, ({ importer, path }) => {
        const isOwn = /[/\\]instance\.[jt]s$/.test(importer) &&
          paths.trellisRoot(importer) !== undefined;
        return isOwn && !betterAuth ? { path: path.slice(2, -3), namespace: NAMESPACE } : undefined;
      });
      // the checks that `defineAuth` loads when a handler asks for them
      build.onResolve({ filter: /^\.\/(?:keys\/api_key_check|jwt\/jwt_auth)\.[jt]s$/ }, (args) => {
        const { importer, path } = args;
        const isNeeded = path.startsWith("./keys") ? apiKeys : jwt;
        const isOwn = /[/\\]define_auth\.[jt]s$/.test(importer) &&
          paths.trellisRoot(importer) !== undefined;
        return isOwn && !isNeeded ? { path, namespace: CHECK_NAMESPACE } : undefined;
      });
      loadGenerated(build, CHECK_NAMESPACE, (path) =>
        renderThrow(
          `trellis build omitted ${path} from this function, because no handler asks for it`,
        ) + "\nexport {};");
      build.onResolve({ filter: /better-auth/ }, ({ path, kind, importer }) => {
        const isPlugin = kind === "dynamic-import" && !betterAuth &&
          paths.trellisRoot(importer) === undefined &&
          getPackageName(toBareSpecifier(path)).includes("better-auth");
        return isPlugin ? { path, namespace: PLUGIN_NAMESPACE } : undefined;
      });
      loadGenerated(
        build,
        PLUGIN_NAMESPACE,
        (path) => renderThrow(`${path}: ${NO_BETTER_AUTH}`) + "\nexport {};",
      );
      loadGenerated(
        build,
        NAMESPACE,
        (path) => `export function ${LIBRARY_MODULES[path]}() { ${renderThrow(NO_BETTER_AUTH)} }`,
      );
    },
  };
}

function renderThrow(message: string): string {
  return `throw new Error(${JSON.stringify(message)});`;
}

/** Message of code that was omitted with better-auth. */
export const NO_BETTER_AUTH: string =
  "trellis build omitted better-auth from this function, because its sources do not use the auth " +
  "instance. Add the function's name to build.betterAuth in trellis.config.ts";
