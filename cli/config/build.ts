import { DATABASE_PROVIDERS, type DatabaseProvider } from "../../database/config/config.ts";
import { isProvider } from "./database.ts";
import {
  FLAG,
  FOLDER,
  isObject,
  isText,
  listOf,
  matching,
  oneOf,
  type SettingsGroup,
} from "./setting_rules.ts";

/** Location of source maps: next to the bundle, to a separate folder, or not at all. */
export type SourceMaps = "beside" | "apart" | "none";

/** Settings of `trellis build`. */
export interface BuildSettings {
  /**
   * Output folder. Each function becomes `<dir>/<Function>/index.mjs`.
   * @default "dist"
   */
  dir?: string;
  /**
   * The oldest Node.js version that the bundles must run on.
   * @default "node22"
   */
  target?: string;
  /**
   * `beside` writes `index.mjs.map` next to the bundle, so it is deployed with the function;
   * `apart` writes to `<dir>.maps/<Function>/`, which is not deployed; `none` writes no source
   * maps.
   * @default "beside"
   */
  sourceMaps?: SourceMaps;
  /**
   * Keeps the names of functions and classes, which logs and metrics use for handlers and queries.
   * `false` drops all names. Then set `operationName` on each handler and `name` on
   * each query, and do not compare class names in code.
   * @default true
   */
  keepNames?: boolean;
  /**
   * `bundle` includes the installed version of `@aws-sdk/*`; `runtime` uses the version that the
   * Lambda runtime provides, which makes a function up to 600 kB smaller. Signers, such as
   * `@aws-sdk/cloudfront-signer`, are included anyway.
   * @default "runtime", and "bundle" for functions with a container image
   */
  awsSdk?: "bundle" | "runtime";
  /**
   * Where functions find the AWS credentials for tokens of Aurora DSQL and of RDS with `iamAuth`. Lambda
   * sets environment variables. `chain` includes the signers of the AWS SDK, about 200 kB, which also find
   * the credentials of containers and instances.
   * @default "environment"
   */
  awsCredentials?: "environment" | "chain";
  /**
   * The database providers whose drivers are bundled.
   * @default the providers found in the sources; all but embedded-pg if none is found
   */
  databaseProviders?: DatabaseProvider[];
  /**
   * Functions that use the auth library although their sources do not show it, for example through a
   * package whose code cannot be analyzed; `"*"` applies to all functions.
   * @default []
   */
  betterAuth?: string[];
  /**
   * Compiles schemas into plain code during the build. zod and the schemas are then in a second file
   * (`schemas.cjs`), which is loaded only for values that do not fit. Functions for which this is not
   * possible are built as usual, and the build prints why.
   * @default false
   */
  precompile?: boolean;
  /**
   * Packages that are not bundled because a layer or the image provides them.
   * @default []
   */
  external?: string[];
  /**
   * Maximum size of `index.mjs` in bytes, by function name; `"*"` applies to all other functions.
   * `trellis build --check` exits with 1 if a bundle is larger.
   * @default {}
   */
  budgets?: Record<string, number>;
}

/** Checks and defaults of {@link BuildSettings}. */
export const BUILD_SETTINGS = {
  checks: {
    dir: FOLDER,
    target: matching("a version of Node, such as node22", /^node\d+(?:\.\d+){0,2}$/),
    sourceMaps: oneOf("beside", "apart", "none"),
    keepNames: FLAG,
    awsSdk: oneOf("bundle", "runtime"),
    awsCredentials: oneOf("environment", "chain"),
    databaseProviders: listOf(`a list of ${DATABASE_PROVIDERS.join(", ")}`, isProvider),
    betterAuth: listOf('a list of function names, or ["*"]', isText),
    precompile: FLAG,
    external: listOf("a list of packages", isText),
    budgets: [
      'an object: { "*": 400_000, FunctionName: 900_000 }, in bytes',
      (value) =>
        isObject(value) &&
        Object.values(value).every((bytes) => Number.isInteger(bytes) && Number(bytes) > 0),
    ],
  },
  defaults: {
    dir: "dist",
    target: "node22",
    sourceMaps: "beside" as SourceMaps,
    keepNames: true as boolean,
    awsCredentials: "environment" as "environment" | "chain",
    betterAuth: [] as string[],
    precompile: false as boolean,
    external: [] as string[],
    budgets: {} as Record<string, number>,
  },
} as const satisfies SettingsGroup<BuildSettings, BuildSettings>;
