import type { DatabaseProvider } from "../../database/config.ts";
import { isObject, isText, type SettingsGroup } from "./settings.ts";

/** Where source maps go: into the function's folder, into a folder of their own, or nowhere. */
export type SourceMaps = "beside" | "apart" | "none";

/** Settings of `trellis build`. */
export interface BuildSettings {
  /**
   * Folder of the bundles: each function is `<dir>/<Function>/index.mjs`.
   * @default "dist"
   */
  dir?: string;
  /**
   * The oldest Node that the bundles run on.
   * @default "node22"
   */
  target?: string;
  /**
   * `beside`: `index.mjs.map` in the function's folder, and so in its package; `apart`: in `<dir>.maps/<Function>/`, which is
   * not deployed; `none`.
   * @default "beside"
   */
  sourceMaps?: SourceMaps;
  /**
   * Whether functions and classes keep their names: those of handlers and queries are what logs and metrics call them. `false`
   * saves about 8 % of a bundle and up to 3 ms of its cold start; then each handler wants an `operationName` and each query a
   * `name`, and code that compares the names of classes may fail.
   * @default true
   */
  keepNames?: boolean;
  /**
   * `bundle` takes the version that the project has installed; `runtime` leaves `@aws-sdk/*` to the version that Lambda's
   * runtime happens to have.
   * @default "bundle"
   */
  awsSdk?: "bundle" | "runtime";
  /**
   * The database providers whose drivers go into the bundles.
   * @default what the sources say; all but embedded-pg where they do not
   */
  databaseProviders?: DatabaseProvider[];
  /**
   * Functions that use the auth library although their sources do not show it, as behind a package that wraps it in code that
   * cannot be read; `"*"` is all functions.
   * @default []
   */
  betterAuth?: string[];
  /**
   * Packages that stay imports: a layer or the image has them.
   * @default []
   */
  external?: string[];
  /**
   * The most bytes that a function's `index.mjs` may have, by function name; `"*"` is for all others. `trellis build --check`
   * exits with 1 when one has more.
   * @default {}
   */
  budgets?: Record<string, number>;
}

const PROVIDERS: readonly unknown[] = ["distsql", "serverless-pg", "branching-pg", "embedded-pg"];

/** What {@link BuildSettings} may be. */
export const BUILD_SETTINGS = {
  checks: {
    dir: ["a folder", isText],
    target: [
      "a version of Node, such as node22",
      (value) => /^node\d+(?:\.\d+){0,2}$/.test(String(value)),
    ],
    sourceMaps: [
      '"beside", "apart" or "none"',
      (value) => ["beside", "apart", "none"].includes(value as string),
    ],
    keepNames: ["true or false", (value) => typeof value === "boolean"],
    awsSdk: ['"bundle" or "runtime"', (value) => value === "bundle" || value === "runtime"],
    databaseProviders: [
      `a list of ${PROVIDERS.join(", ")}`,
      (value) => Array.isArray(value) && value.every((each) => PROVIDERS.includes(each)),
    ],
    betterAuth: [
      'a list of function names, or ["*"]',
      (value) => Array.isArray(value) && value.every(isText),
    ],
    external: ["a list of packages", (value) => Array.isArray(value) && value.every(isText)],
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
    awsSdk: "bundle" as "bundle" | "runtime",
    betterAuth: [] as string[],
    external: [] as string[],
    budgets: {} as Record<string, number>,
  },
} as const satisfies SettingsGroup<BuildSettings, BuildSettings>;
