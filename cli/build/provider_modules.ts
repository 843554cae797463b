import type { OnLoadResult, Plugin, PluginBuild } from "esbuild";
import { basename, dirname, extname } from "node:path";
import type { DatabaseProvider } from "../../database/config/config.ts";
import type { DATABASE_PACKAGES } from "../../database/config/optional_packages.ts";
import { getInstallCommand } from "../terminal/optional_packages.ts";
import type { ModulePaths } from "../sources/module_paths.ts";

/** A provider of `@trellis/fn`: a module in database/providers that is loaded on first use. */
interface ProviderModule {
  readonly module: string;
  /** The function that opens a connection. */
  readonly open: string;
  /** Modules of {@link LOADERS} that it uses, if they may run during initialization. */
  readonly loaders?: readonly string[];
  /** The package that it requires. */
  readonly peer?: keyof typeof DATABASE_PACKAGES;
}

const POSTGRES = ["load_postgres"];

const PROVIDERS: Readonly<Record<DatabaseProvider, ProviderModule>> = {
  "postgres": { module: "postgres", open: "openPostgresServer", loaders: POSTGRES },
  "distsql": { module: "distsql", open: "openDistSql", loaders: POSTGRES },
  "serverless-pg": {
    module: "serverless_pg",
    open: "openServerlessPg",
    loaders: ["load_data_api", ...POSTGRES],
  },
  "branching-pg": {
    module: "branching_pg",
    open: "openBranchingPg",
    loaders: ["load_neon"],
    peer: "@neondatabase/serverless",
  },
  "embedded-pg": { module: "embedded_pg", open: "openEmbeddedPg", peer: "@electric-sql/pglite" },
};

/** Modules that load a driver or another module: the exported function, and what it loads. */
const LOADERS: Readonly<Record<string, readonly [name: string, driver: string]>> = {
  load_aws_sources: ["loadAwsSources", "./aws_sources"],
  load_data_api: ["loadDataApi", "./data_api"],
  load_neon: ["loadNeon", "@neondatabase/serverless"],
  load_postgres: ["loadPostgres", "postgres"],
};

/** The modules that are replaced, as patterns. */
const OWN_MODULES = [
  String.raw`database[/\\]providers[/\\](?:open_provider|load_\w+)`,
  String.raw`env[/\\]load_aws_sources`,
];

/** The module of {@link LOADERS} that every function loads during initialization. */
const ALWAYS_STATIC = "load_aws_sources";

/** Modules that load a signer of the AWS SDK: the exported function, and the package. */
const SIGNERS: Readonly<Record<string, readonly [name: string, signer: string]>> = {
  load_dsql_signer: ["loadDsqlSigner", "@aws-sdk/dsql-signer"],
  load_rds_signer: ["loadRdsSigner", "@aws-sdk/rds-signer"],
};

/** Options of {@link providerModulesPlugin}. */
export interface ProviderModulesOptions {
  /** The providers of the function. */
  readonly providers: readonly DatabaseProvider[];
  /** Providers that must work, so their packages must be installed. */
  readonly required: readonly DatabaseProvider[];
  /** Where the function finds AWS credentials; `chain` needs the signers of the AWS SDK. */
  readonly awsCredentials: "environment" | "chain";
  readonly paths: ModulePaths;
  /** Checks whether a package is not bundled and may be missing. */
  readonly isExternal: (name: string) => boolean;
}

/**
 * Creates a plugin that replaces the modules of `@trellis/fn` that load providers and drivers. The
 * bundle contains only the given providers; another one throws an error with the reason.
 *
 * A single provider and its driver are imported statically, so that they are loaded during
 * initialization, when Lambda provides a full CPU. With a dynamic import, a bundler wraps all
 * modules that the driver shares with the rest (most of all drizzle) in functions, which the engine
 * parses twice: 5 ms of a cold start.
 *
 * @returns The plugin; it must precede plugins that load modules.
 */
export function providerModulesPlugin(options: ProviderModulesOptions): Plugin {
  return {
    name: "provider modules",
    setup(build): void {
      const filter = new RegExp(`[/\\\\](?:${OWN_MODULES.join("|")})\\.[jt]s$`);
      build.onLoad({ filter }, async ({ path, namespace }): Promise<OnLoadResult | undefined> => {
        if (options.paths.trellisRoot(path) === undefined) return undefined;
        const extension = extname(path);
        const name = basename(path, extension);
        const contents = renderModule(name, extension, options);
        if (contents === undefined) return undefined;
        const errors = name === "open_provider"
          ? await findMissingPeers(build, path, namespace, options)
          : [];
        return { contents, loader: "js", resolveDir: dirname(path), errors };
      });
    },
  };
}

/**
 * Renders the replacement of a module.
 *
 * @param name Its name in database/providers: `open_provider`.
 * @param extension The extension in imports: `.ts` in a checkout, `.js` in the npm package.
 * @param options The needed providers.
 * @returns The code; `undefined` if the module stays unchanged.
 */
export function renderModule(
  name: string,
  extension: string,
  { providers, awsCredentials, isExternal }: Pick<
    ProviderModulesOptions,
    "awsCredentials" | "providers" | "isExternal"
  >,
): string | undefined {
  if (name in SIGNERS) return awsCredentials === "chain" ? undefined : renderOmittedSigner(name);
  const [only, ...others] = providers;
  const single = only !== undefined && others.length === 0 ? PROVIDERS[only] : undefined;
  if (name === "open_provider") {
    return renderOpenProvider(providers, extension, single?.loaders !== undefined);
  }
  if (name !== ALWAYS_STATIC && single?.loaders?.includes(name) !== true) return undefined;
  const [exported, driver] = LOADERS[name];
  if (isExternal(driver)) return undefined;
  const specifier = driver.startsWith(".") ? driver + extension : driver;
  return `import * as driver from "${specifier}";
export function ${exported}() { return Promise.resolve(driver); }
`;
}

function renderOmittedSigner(module: string): string {
  const [exported, signer] = SIGNERS[module];
  const message =
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and trellis build omitted " +
    `${signer}, which looks for credentials elsewhere. Set build.awsCredentials in ` +
    'trellis.config.ts to "chain"';
  return `export function ${exported}() {
  return Promise.reject(new Error(${JSON.stringify(message)}));
}
`;
}

function renderOpenProvider(
  providers: readonly DatabaseProvider[],
  extension: string,
  isStatic: boolean,
): string {
  const cases = providers.map((provider) => {
    const { module, open } = PROVIDERS[provider];
    const opener = isStatic ? open : `(await import("./${module}${extension}")).${open}`;
    return `case "${provider}": return ${opener}(config, invalidate);`;
  });
  const { module, open } = PROVIDERS[providers[0]] ?? {};
  return `${isStatic ? `import { ${open} } from "./${module}${extension}";` : ""}
export async function openProvider(config, invalidate) {
  switch (config.provider) {
    ${cases.join("\n    ")}
  }
  throw explainOmission(config.provider);
}
function explainOmission(provider) {
  const reason = provider === "embedded-pg"
    ? "it is for development and tests only. Check the environment variables that select the provider"
    : "its sources do not use it. Set build.databaseProviders in trellis.config.ts";
  return new Error("trellis build omitted the provider " + provider + " from this function: " + reason);
}
`;
}

/**
 * Finds required packages that are not installed. A provider that is only possibly used may lack its
 * package: an error is thrown on use.
 */
async function findMissingPeers(
  build: PluginBuild,
  importer: string,
  namespace: string,
  { providers, required, awsCredentials, isExternal }: ProviderModulesOptions,
): Promise<{ text: string }[]> {
  const missing: { text: string }[] = [];
  for (const provider of required.filter((each) => providers.includes(each))) {
    const needsSigner = provider === "distsql" && awsCredentials === "chain";
    const peer = needsSigner ? "@aws-sdk/dsql-signer" as const : PROVIDERS[provider].peer;
    if (peer === undefined || isExternal(peer)) continue;
    const { errors } = await build.resolve(peer, {
      kind: "dynamic-import",
      importer,
      namespace,
      resolveDir: dirname(importer),
    });
    if (errors.length === 0) continue;
    const command = getInstallCommand(peer);
    missing.push({
      text: `Provider ${provider} requires the package ${peer}, which is not installed: ${command}`,
    });
  }
  return missing;
}
