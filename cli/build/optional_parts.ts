import type { Plugin } from "esbuild";
import { dirname } from "node:path";
import { getPackageName } from "../analysis/import_aliases.ts";
import { OPTIONAL_PACKAGES, type OptionalPackage } from "../../core/optional_package.ts";
import type { DatabaseProvider } from "../../database/config.ts";
import type { BuildSettings } from "../config/build.ts";
import type { ModulePaths } from "./module_paths.ts";
import { DEPLOYABLE, type Needs } from "./needs.ts";
import { plainSpecifier } from "./plain_specifier.ts";

/** A part of `@trellis/fn` that is loaded when it is first used, and that not every function needs. */
interface OptionalPart {
  /** The provider that it serves. */
  readonly provider?: DatabaseProvider;
  /** Its module, without extension, and what imports it. */
  readonly module: string;
  readonly importer: string;
  /** What the importer takes from it. */
  readonly exports: string;
  /** What it loads in its turn, where both may be loaded at a function's start. */
  readonly eager?: readonly string[];
  /** The package without which it cannot work. */
  readonly peer?: OptionalPackage;
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

const NAMESPACE = "left out";

/** Which optional parts go into a bundle. */
export interface Parts {
  readonly providers: readonly DatabaseProvider[];
  readonly betterAuth: boolean;
}

/**
 * What a function whose only provider this is may load at its start: the provider's module and what that loads, as they
 * stand in `import()`, without extensions.
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
  /** Providers that must work: their packages have to be installed. Deno fetches what modules import. */
  readonly required: readonly DatabaseProvider[];
  /** Whether a package stays an import. */
  readonly isExternal: (name: string) => boolean;
}

/** Packages that read files beside their own code, which no bundle has. */
const NEVER_BUNDLED = ["@electric-sql/pglite", "libpg-query"] as const;

/**
 * Which packages stay imports.
 *
 * @param configured Packages; `@aws-sdk/*` is all of them.
 * @returns Says it of a package.
 */
export function externals(configured: readonly string[]): (name: string) => boolean {
  const external = [...configured, ...NEVER_BUNDLED];
  return (name) =>
    external.some((each) =>
      each === name || (each.endsWith("/*") && name.startsWith(each.slice(0, -1)))
    );
}

/**
 * The parts that a function gets.
 *
 * @param name The function's name.
 * @param needs What its sources show.
 * @param settings What the configuration says.
 * @returns The parts. PGlite is only there when it is configured: it reads files that lie beside its own code.
 */
export function getParts(
  name: string,
  needs: Needs,
  { databaseProviders, betterAuth = [] }: Pick<BuildSettings, "betterAuth" | "databaseProviders">,
): Parts {
  const shown = needs.anyProvider
    ? DEPLOYABLE
    : needs.providers.filter((provider) => provider !== "embedded-pg");
  return {
    providers: databaseProviders ?? shown,
    betterAuth: needs.betterAuth || betterAuth.some((each) => each === name || each === "*"),
  };
}

/**
 * Keeps the parts that a function does not need out of its bundle; whoever uses one of them all the same reads why it is
 * not there.
 *
 * @param options The parts that are needed.
 * @returns The plugin; it comes before those that resolve.
 */
export function optionalPartsPlugin(options: OptionalPartsOptions): Plugin {
  const { providers, required, betterAuth, paths, isExternal } = options;
  return {
    name: "optional parts",
    setup(build): void {
      build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
        const name = plainSpecifier(path);
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
              pluginData: explain(part),
            };
          }
          // a provider that is only possible may lack its package: its file says so when it is used
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
              text: `Provider ${provider} needs the package ${peer}, which is not installed: ` +
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
 * The command that installs an optional package of `@trellis/fn`.
 *
 * @param name A package.
 * @returns The command, or `undefined` for any other package.
 */
export function getInstallCommand(name: string): string | undefined {
  if (!Object.hasOwn(OPTIONAL_PACKAGES, name)) return undefined;
  return `npm install "${name}@${OPTIONAL_PACKAGES[name as OptionalPackage]}"`;
}

function explain({ provider }: OptionalPart): string {
  if (provider === undefined) {
    return "trellis build left better-auth out of this function, since nothing in its sources uses the auth instance. " +
      "Add the function's name to build.betterAuth in trellis.config.ts";
  }
  return `trellis build left provider ${provider} out of this function: ` +
    (provider === "embedded-pg"
      ? "it is for development and tests. Check the environment variables that choose the provider"
      : "nothing in its sources names it. Set build.databaseProviders in trellis.config.ts");
}
