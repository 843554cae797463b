/**
 * The command line: run as a program it is `trellis` (`deno run -A jsr:@trellis/fn/cli generate permissions`); imported, it
 * gives the parts that programs may use: the configuration's type, the functions of a project, the local gateway, the API
 * reference page, where the Terraform modules are.
 *
 * ```ts
 * import { resolveModulesPath } from "@trellis/fn/cli";
 *
 * console.log(await resolveModulesPath());
 * ```
 *
 * @module
 */
export { defineConfig, type TrellisConfig } from "./config/config.ts";
export type { BuildSettings, SourceMaps } from "./config/build.ts";
export type { DatabaseSettings, TranslationSettings } from "./config/database.ts";
export type { DevSettings } from "./config/dev.ts";
export type {
  ApiInfra,
  BucketInfra,
  BusInfra,
  EnvironmentValue,
  FunctionInfra,
  InfraSettings,
  QueueInfra,
  WebSocketInfra,
} from "./config/infra.ts";
export type { ConfiguredServer, OpenapiSettings } from "./config/openapi.ts";
export type { ConfiguredGrant, PermissionsSettings } from "./config/permissions.ts";
export { type Gateway, type GatewayOptions, startGateway } from "./dev/gateway.ts";
export { loadRoutes } from "./dev/load_routes.ts";
export type { LocalRoute } from "./dev/route_table.ts";
export {
  findFunctionFiles,
  FUNCTION_KINDS,
  type FunctionFile,
  type FunctionKind,
} from "./discovery/function_files.ts";
export { findRouteFiles, ROUTE_METHODS, type RouteFile } from "./discovery/route_files.ts";
export {
  ModulesPathError,
  type ModulesPathErrorCode,
  resolveModulesPath,
  type ResolveModulesPathOptions,
} from "./infra/modules_path.ts";
export { type ReferencePageOptions, renderReferencePage } from "./openapi/reference_page.ts";

// On Deno this entry point is also the program; npm's program is main.js. Not awaited, since `require` refuses a module that
// awaits. Destructured, since dnt replaces the expression import.meta.main. The main module's name is no URL with JSR.
const { main } = import.meta as { main?: boolean };
// dnt-shim-ignore
const isDeno = "Deno" in globalThis;
if (main === true && isDeno) void import("./main.ts");
