/**
 * The command line. Run as a program it is `trellis` (`deno run -A jsr:@trellis/fn/cli generate
 * permissions`). Imported, it provides the configuration type, function discovery, the local
 * gateway and the path of the Terraform modules.
 *
 * ```ts
 * import { resolveModulesPath } from "@trellis/fn/cli";
 *
 * console.log(await resolveModulesPath());
 * ```
 *
 * @module
 */
export {
  type AsyncapiSettings,
  type AuthSchemaSettings,
  type ClientSettings,
  defineConfig,
  type DevSettings,
  type TrellisConfig,
} from "./config/config.ts";
export type { BuildSettings, SourceMaps } from "./config/build.ts";
export type { Mask } from "./config/clone.ts";
export type { DatabaseSettings, TranslationSettings } from "./config/database.ts";
export type {
  FunctionImage,
  FunctionResources,
  FunctionUrl,
  PolicyStatement,
  SourceArn,
} from "./config/function_resources.ts";
export type { ApiInfra, JwtInfra, WebSocketInfra } from "./config/api_infra.ts";
export type { CdnInfra, PushPlatformInfra, RepositoryInfra } from "./config/delivery_infra.ts";
export type { EnvironmentValue } from "./discovery/environment_value.ts";
export type { FunctionInfra, KafkaInfra } from "./config/function_infra.ts";
export type { InfraSettings, JobsInfra, MailInfra } from "./config/infra.ts";
export type { BucketInfra, BusInfra, QueueEvents, QueueInfra } from "./config/named_resources.ts";
export type { ReleaseInfra, StageInfra, StateInfra } from "./config/stage_infra.ts";
export type { ConfiguredServer, OpenapiSettings } from "./config/openapi.ts";
export type { ConfiguredGrant, PermissionsSettings } from "./config/permissions.ts";
export { type Gateway, type GatewayOptions, startGateway } from "./dev/gateway.ts";
export type { UpgradeHandler } from "./dev/http/http_server.ts";
export { loadRoutes } from "./dev/load_routes.ts";
export type { LocalRoute } from "../testing/gateway/route_table.ts";
export { findFunctionFiles, type FunctionFile } from "./discovery/function_files.ts";
export type { FunctionNaming } from "./discovery/function_naming.ts";
export { FUNCTION_KINDS, type FunctionKind } from "./discovery/function_kinds.ts";
export { findRouteFiles, ROUTE_METHODS, type RouteFile } from "./discovery/route_files.ts";
export {
  ModulesPathError,
  type ModulesPathErrorCode,
  resolveModulesPath,
  type ResolveModulesPathOptions,
} from "./infra/modules_path.ts";

// On Deno this module is also the program; the npm package runs main.js. No top-level await: a module
// that has one cannot be loaded with require(). Deno's main module is not the URL of a package from JSR.
if (import.meta.main && "Deno" in globalThis) void import("./main.ts");
