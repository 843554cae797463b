import type { Plugin } from "esbuild";
import { dirname } from "node:path";
import { getPackageName, toBareSpecifier } from "../analysis/package_specifier.ts";
import type { DatabaseProvider } from "../../database/config.ts";
import type { DATABASE_PACKAGES } from "../../database/optional_packages.ts";
import { OPTIONAL_PACKAGES } from "../optional_packages.ts";
import type { BuildSettings } from "../config/build.ts";
import type { ModulePaths } from "./module_paths.ts";
import { DEPLOYABLE, type Needs } from "./needs.ts";

/** A part of `@trellis/fn` that is loaded on first use and that not every function needs. */
interface OptionalPart {
  /** The provider that it implements. */
  readonly provider?: DatabaseProvider;
  /** Its module without extension, and the importing module. */
  readonly module: string;
  readonly importer: string;
  /** The name that the importer uses. */
  readonly exports: string;
  /** Modules that it imports and that may be loaded during initialization. */
  readonly eager?: readonly string[];
  /** The package that it requires. */
  readonly peer?: keyof typeof DATABASE_PACKAGES;
}

const PARTS: readonly OptionalPart[] = [
  {
    provider: "distsql",
    module: "providers/distsql",
    importer: "client",
    exports: "openDistSql",
    eager: ["postgres"],
    peer: "@aws-sdk/dsql-signer",
  },
  {
    provider: "serverless-pg",
    module: "providers/serverless_pg",
    importer: "client",
    exports: "openServerlessPg",
    eager: ["./data_api", "postgres"],
  },
  {
    provider: "branching-pg",
    module: "providers/branching_pg",
    importer: "client",
    exports: "openBranchingPg",
    eager: ["@neondatabase/serverless"],
    peer: "@neondatabase/serverless",
  },
  {
    provider: "embedded-pg",
    module: "providers/embedded_pg",
    importer: "client",
    exports: "openEmbeddedPg",
    peer: "@electric-sql/pglite",
  },
  { module: "better_auth", importer: "instance", exports: "startBetterAuth" },
];

const NAMESPACE = "omitted";

/** The optional parts in a bundle. */
export interface Parts {
  readonly providers: readonly DatabaseProvider[];
  readonly betterAuth: boolean;
}

/**
 * Returns the modules that a function with a single provider may load during initialization: the
 * provider's module and its imports, as in `import()` without extensions.
 *
 * @param provider The provider.
 */
export function getEagerParts(provider: DatabaseProvider): readonly string[] {
  const { module, eager } = PARTS.find((part) => part.provider === provider)!;
  return eager === undefined ? [] : [`./${module}`, ...eager];
}

/** Options of {@link optionalPartsPlugin}. */
export interface OptionalPartsOptions extends Parts {
  readonly paths: ModulePaths;
  /** Providers that must work, so their packages must be installed. Empty for Deno, which downloads packages. */
  readonly required: readonly DatabaseProvider[];
  /** Checks whether a package is not bundled. */
  readonly isExternal: (name: string) => boolean;
}

/** Packages that read files next to their code, which a bundle does not contain. */
const NEVER_BUNDLED = ["@electric-sql/pglite", "libpg-query"] as const;

/**
 * Creates a check for packages that are not bundled.
 *
 * @param configured Package names; `@aws-sdk/*` matches all packages of a scope.
 * @returns The check.
 */
export function createExternalCheck(configured: readonly string[]): (name: string) => boolean {
  const external = [...configured, ...NEVER_BUNDLED];
  return (name) =>
    external.some((each) =>
      each === name || (each.endsWith("/*") && name.startsWith(each.slice(0, -1)))
    );
}

/**
 * Selects the optional parts of a function.
 *
 * @param name The function's name.
 * @param needs The needs found in its sources.
 * @param settings The configuration.
 * @returns The parts. PGlite is only included if configured: it reads files next to its own code.
 */
export function selectParts(
  name: string,
  needs: Needs,
  { databaseProviders, betterAuth = [] }: Pick<BuildSettings, "betterAuth" | "databaseProviders">,
): Parts {
  const found = needs.anyProvider
    ? DEPLOYABLE
    : needs.providers.filter((provider) => provider !== "embedded-pg");
  return {
    providers: databaseProviders ?? found,
    betterAuth: needs.betterAuth || betterAuth.some((each) => each === name || each === "*"),
  };
}

/**
 * Creates a plugin that omits optional parts that a function does not need. Using an omitted part
 * throws an error with the reason.
 *
 * @param options The needed parts.
 * @returns The plugin; it must precede resolving plugins.
 */
export function optionalPartsPlugin(options: OptionalPartsOptions): Plugin {
  const { providers, required, betterAuth, paths, isExternal } = options;
  return {
    name: "optional parts",
    setup(build): void {
      build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
        const name = toBareSpecifier(path);
        return kind !== "entry-point" && isExternal(getPackageName(name))
          ? { path: name, external: true }
          : undefined;
      });

      build.onResolve(
        { filter: /(?:_pg|distsql|better_auth)\.[jt]s$/ },
        async ({ path, importer, kind }) => {
          if (
            kind !== "dynamic-import" || paths.trellisRoot(importer) === undefined
          ) return undefined;
          const part = PARTS.find(({ module, importer: name }) =>
            path.replace(/\.[jt]s$/, "") === `./${module}` &&
            importer.replace(/\.[jt]s$/, "").endsWith(`/${name}`)
          );
          if (part === undefined) return undefined;
          const { provider, peer } = part;
          const isNeeded = provider === undefined ? betterAuth : providers.includes(provider);
          if (!isNeeded) {
            return {
              path: part.exports,
              namespace: NAMESPACE,
              pluginData: explainOmission(part),
            };
          }
          // a provider that is only possibly used may lack its package: an error is thrown on use
          const mustWork = provider !== undefined && required.includes(provider) &&
            !isExternal(peer ?? "");
          if (peer === undefined || !mustWork) return undefined;
          const { errors } = await build.resolve(peer, {
            kind,
            importer,
            resolveDir: dirname(importer),
          });
          if (errors.length === 0) return undefined;
          return {
            errors: [{
              text: `Provider ${provider} requires the package ${peer}, which is not installed: ` +
                getInstallCommand(peer),
            }],
          };
        },
      );

      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path, pluginData }) => ({
        contents: `export function ${path}() { throw new Error(${JSON.stringify(pluginData)}); }`,
        loader: "js",
      }));
    },
  };
}

/**
 * Returns the command that installs an optional package of `@trellis/fn`.
 *
 * @param name A package.
 * @returns The command; `undefined` for other packages.
 */
export function getInstallCommand(name: string): string | undefined {
  return Object.hasOwn(OPTIONAL_PACKAGES, name)
    ? `npm install "${name}@${OPTIONAL_PACKAGES[name]}"`
    : undefined;
}

function explainOmission({ provider }: OptionalPart): string {
  if (provider === undefined) {
    return "trellis build omitted better-auth from this function, because its sources do not use the auth " +
      "instance. Add the function's name to build.betterAuth in trellis.config.ts";
  }
  return `trellis build omitted the provider ${provider} from this function: ` +
    (provider === "embedded-pg"
      ? "it is for development and tests only. Check the environment variables that select the provider"
      : "its sources do not use it. Set build.databaseProviders in trellis.config.ts");
}
