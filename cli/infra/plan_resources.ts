import type { ResolvedConfig } from "../config/config.ts";
import { type Authorizers, chooseAuthorizers } from "./authorizers.ts";
import { type Environments, planEnvironments } from "./environment.ts";
import { type GatewayPaths, planPaths } from "./gateway_paths.ts";
import { block, type HclBlock, type HclPart } from "./hcl.ts";
import {
  addHeadRoutes,
  type FunctionEnvironment,
  type InfraFunction,
  listRoutes,
} from "./infra_plan.ts";
import { toIdentifier } from "./names.ts";
import { DEFAULT_BUS, gatherResources, listQueueBuses, type Resources } from "./resources.ts";

/** Options of {@link planResources}. */
export interface PlanOptions {
  readonly functions: readonly InfraFunction[];
  /** The setting `infra`. */
  readonly infra: ResolvedConfig["infra"];
  readonly projectName: string;
  /**
   * Variable with the address of the database that grants are applied to, if functions get logins of
   * their own.
   */
  readonly loginVariable?: string;
  /** Folder of the bundles, relative to the Terraform files. */
  readonly distDir: string;
  /** Returns the `source` of a module block. */
  readonly moduleSource: (name: string) => string;
}

/** The resources of a project and how they are connected. */
export interface ResourcePlan extends Omit<PlanOptions, "moduleSource"> {
  /** True for an HTTP API, where paths are no resources. */
  readonly isHttp: boolean;
  /** The functions in `api/`, with the routes of routers in place of these. */
  readonly routes: readonly InfraFunction[];
  /** Functions in `api/` with their own URL, which are no routes. */
  readonly withUrl: readonly InfraFunction[];
  readonly sockets: readonly InfraFunction[];
  readonly queues: Resources;
  readonly topics: Resources;
  readonly buses: Resources;
  /** Terraform names of the event buses except the default bus. */
  readonly ownBuses: ReadonlyMap<string, string>;
  readonly buckets: Resources;
  readonly authorizers: Authorizers;
  readonly paths: GatewayPaths;
  readonly environments: Environments;
  getEnvironment(functionName: string): FunctionEnvironment;
  /** The modules that were used with `createModule`. */
  readonly modules: ReadonlySet<string>;
  /** Creates a block that uses a module of this package. */
  createModule(name: string, module: string, ...body: readonly HclPart[]): HclBlock;
}

/**
 * Plans the resources of a project.
 *
 * @returns The resources with their names and connections.
 */
export function planResources(options: PlanOptions): ResourcePlan {
  const { infra, functions: all, moduleSource, ...rest } = options;
  const functions = [...all].sort((a, b) => a.name < b.name ? -1 : 1);
  const ofKind = (kind: InfraFunction["kind"]) => functions.filter((fn) => fn.kind === kind);
  const isHttp = infra.api.type === "http";
  const withUrl = ofKind("api").filter(({ settings }) => settings.url !== undefined);
  const ownRoutes = listRoutes(ofKind("api").filter((fn) => !withUrl.includes(fn)));
  const routes = infra.api.headRoutes ? addHeadRoutes(ownRoutes) : ownRoutes;
  const sockets = ofKind("websocket");
  const queues = gatherResources(ofKind("queue"), Object.keys(infra.queues));
  const topics = gatherResources(ofKind("topic"), Object.keys(infra.topics));
  const buses = gatherResources(ofKind("event"), [
    ...Object.keys(infra.buses),
    ...listQueueBuses(infra.queues),
  ]);
  const buckets = gatherResources(ofKind("storage"), [
    ...Object.keys(infra.buckets),
    ...Object.values(infra.cdn?.buckets ?? {}),
  ]);
  const ownBuses = new Map([...buses.ids].filter(([name]) => name !== DEFAULT_BUS));
  const environments = planEnvironments(functions, infra, {
    queue: queues.ids,
    topic: topics.ids,
    bus: ownBuses,
    bucket: buckets.ids,
    push: new Map(Object.keys(infra.pushPlatforms).map((name) => [name, toIdentifier(name)])),
    hasWebSocket: sockets.length > 0,
    hasApi: routes.length > 0,
  }, options.loginVariable);
  const modules = new Set<string>();
  return {
    ...rest,
    infra,
    isHttp,
    functions,
    routes,
    withUrl,
    sockets,
    queues,
    topics,
    buses,
    ownBuses,
    buckets,
    authorizers: chooseAuthorizers(
      listRoutes(functions.filter((fn) => !withUrl.includes(fn))),
      infra,
    ),
    paths: planPaths(routes, isHttp),
    environments,
    getEnvironment: (name) => environments.byFunction.get(name)!,
    modules,
    createModule(name, module, ...body): HclBlock {
      modules.add(module);
      return block("module", [name], { source: moduleSource(module) }, ...body);
    },
  };
}
