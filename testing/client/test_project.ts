import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { findConfigFile } from "../../cli/discovery/config_file.ts";
import {
  type EnvironmentValue,
  type FunctionEnvironments,
  getFixedValue,
  listVariables,
} from "../../cli/discovery/environment_value.ts";
import {
  findFunctionFiles,
  type FunctionFile,
  sortRoutes,
} from "../../cli/discovery/function_files.ts";
import type { FunctionNaming } from "../../cli/discovery/function_naming.ts";
import { importDefault, importFile } from "../../cli/discovery/import_file.ts";
import { isSecretName, listRequiredVariables } from "../../cli/discovery/required_variables.ts";
import { sourceFiles } from "../../cli/discovery/source_files.ts";
import type { LambdaContext } from "../../core/http/lambda.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { Route } from "../../router/define_router.ts";
import { createLambdaContext } from "../context.ts";
import type { LoadedRoute } from "../gateway/answer_request.ts";
import { createRouteTable, type RouteMatch } from "../gateway/route_table.ts";

/** A handler of any trigger, with the marks of its `define…` function. */
export interface TestHandler {
  (event: unknown, context: LambdaContext): unknown;
  /** The operation that `defineApiHandler` registered. */
  readonly operation?: LoadedRoute["operation"];
  /** The routes of a router. */
  readonly routes?: readonly Route[];
  /** True for the relay of jobs. */
  readonly isJobRelay?: boolean;
  /** True for the consumer of the queue of jobs. */
  readonly isJobQueue?: boolean;
  /** The mode of `defineWebSocketHandler`. */
  readonly auth?: string;
}

/** A function that serves a route. */
export type TestRoute = FunctionFile & { readonly method: string; readonly path: string };

/** The settings of `trellis.config.ts` that tests need. */
interface ProjectSettings extends FunctionNaming {
  readonly functionsDir?: string;
  readonly database?: { readonly migrationsDir?: string };
  readonly infra?: FunctionEnvironments & {
    readonly api?: { readonly authorizer?: string; readonly headRoutes?: boolean };
    readonly websocket?: { readonly authorizer?: string | false };
    readonly functions?: Readonly<Record<string, { readonly twoWay?: boolean }>>;
  };
}

function isSecret(name: string, value: EnvironmentValue): boolean {
  const { secret, variable } = Object(value) as { secret?: unknown; variable?: unknown };
  return Boolean(secret) || variable === true && isSecretName(name);
}

/** A project whose functions are loaded when they are first called. */
export class TestProject {
  readonly root: string;
  readonly settings: ProjectSettings;
  readonly functions: readonly FunctionFile[];
  readonly #functionsDir: string;
  #match: Promise<(method: string, path: string) => RouteMatch<TestRoute>> | undefined;

  private constructor(root: string, settings: ProjectSettings) {
    this.root = root;
    this.settings = settings;
    this.#functionsDir = resolve(root, settings.functionsDir ?? "src/functions");
    this.functions = findFunctionFiles(this.#functionsDir, settings);
  }

  /**
   * Reads the configuration of a project and finds its functions.
   *
   * @param root Absolute path of the project.
   * @throws {ConfigurationError} If the folder of functions is missing or invalid.
   */
  static async open(root: string): Promise<TestProject> {
    const file = findConfigFile(root);
    const settings = file === undefined ? {} : await importDefault<ProjectSettings>(file);
    return new TestProject(root, settings);
  }

  /** Returns the folder of the migrations; `undefined` if it does not exist. */
  findMigrations(): string | undefined {
    const folder = resolve(this.root, this.settings.database?.migrationsDir ?? "migrations");
    return existsSync(folder) ? folder : undefined;
  }

  /**
   * Returns the values of variables that a test need not set: texts of `infra.environment`, and random secrets for those
   * in it and for those that the sources require by a name of secrets, as `trellis dev` generates them.
   */
  createVariables(): Record<string, string> {
    const values: Record<string, string> = {};
    // beside a folder of functions in the root are the packages
    const above = dirname(this.#functionsDir);
    const secrets = sourceFiles(above === this.root ? this.#functionsDir : above)
      .flatMap((file) => listRequiredVariables(readFileSync(file, "utf8"))).filter(isSecretName);
    for (const [name, value] of listVariables(this.settings.infra ?? {})) {
      const fixed = getFixedValue(value);
      if (fixed !== undefined) values[name] ??= fixed;
      else if (isSecret(name, value)) secrets.push(name);
    }
    for (const name of secrets) values[name] ??= randomBytes(32).toString("hex");
    return values;
  }

  /**
   * Returns a function by its name.
   *
   * @throws {ConfigurationError} If there is none.
   */
  get(name: string): FunctionFile {
    const found = this.functions.find((fn) => fn.name === name);
    if (found !== undefined) return found;
    const names = this.functions.map((fn) => fn.name).join(", ");
    throw new ConfigurationError(`The project has no function ${name}. It has ${names}`);
  }

  /**
   * Loads a function.
   *
   * @throws {ConfigurationError} If its file does not export a handler.
   */
  async load({ file }: FunctionFile): Promise<TestHandler> {
    const { handler } = await importFile<{ readonly handler?: TestHandler }>(file);
    if (typeof handler === "function") return handler;
    throw new ConfigurationError(
      `${file} does not export a handler. Write export const handler = define…Handler({ … })(…)`,
    );
  }

  /** Loads the functions of a kind of trigger that fulfil a condition. */
  async find(
    kind: FunctionFile["kind"],
    fits: (handler: TestHandler) => boolean | undefined,
  ): Promise<FunctionFile[]> {
    const known = this.functions.filter((fn) => fn.kind === kind);
    const handlers = await Promise.all(known.map((fn) => this.load(fn)));
    return known.filter((_, at) => fits(handlers[at]));
  }

  /** Calls a function with an event. */
  async invoke(fn: FunctionFile, event: unknown): Promise<unknown> {
    const handler = await this.load(fn);
    return await handler(event, createLambdaContext({ functionName: fn.name }));
  }

  /** Returns the table of the routes, with those of routers. */
  match(): Promise<(method: string, path: string) => RouteMatch<TestRoute>> {
    return this.#match ??= this.#createTable();
  }

  async #createTable(): Promise<(method: string, path: string) => RouteMatch<TestRoute>> {
    const routers = this.functions.filter(({ isRouter }) => isRouter);
    const routes = await Promise.all(routers.map(async (fn): Promise<FunctionFile[]> => {
      const { routes = [] } = await this.load(fn);
      return routes.map(({ method, path }) => ({ ...fn, method, path }));
    }));
    return createRouteTable(
      sortRoutes([...this.functions, ...routes.flat()]) as TestRoute[],
      this.settings.infra?.api?.headRoutes,
    );
  }

  /** Loads the function of a route, with the operation of the route. */
  async loadRoute(route: TestRoute): Promise<LoadedRoute> {
    const handler = await this.load(route);
    const own = handler.routes?.find(({ method, path }) =>
      method === route.method && path === route.path
    );
    return {
      handler: handler as LoadedRoute["handler"],
      operation: own === undefined ? handler.operation : own.handler.operation,
    };
  }
}
