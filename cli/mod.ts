/**
 * The command line's parts that programs may use: the local gateway, the API reference page, where the Terraform
 * modules are.
 *
 * ```ts
 * import { resolveModulesPath } from "@trellis/fn/cli";
 *
 * console.log(await resolveModulesPath());
 * ```
 *
 * @module
 */
export { type Gateway, type GatewayOptions, startGateway } from "./dev/gateway.ts";
export { loadRoutes } from "./dev/load_routes.ts";
export type { LocalRoute } from "./dev/route_table.ts";
export { findRouteFiles, ROUTE_METHODS, type RouteFile } from "./discovery/route_files.ts";
export {
  ModulesPathError,
  type ModulesPathErrorCode,
  resolveModulesPath,
  type ResolveModulesPathOptions,
} from "./infra/modules_path.ts";
export { renderReferencePage } from "./openapi/reference_page.ts";
