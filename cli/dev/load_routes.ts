import { ConfigurationError } from "../../errors/http_errors.ts";
import { findRouteFiles, readRouteFiles } from "../discovery/route_files.ts";
import { importFile } from "../discovery/import_file.ts";
import { sortRoutes } from "../discovery/function_files.ts";
import type { Route } from "../../router/define_router.ts";
import type { LocalRoute } from "../../testing/gateway/route_table.ts";

interface RouteModule {
  readonly handler?: LocalRoute["handler"] & Pick<LocalRoute, "operation"> & {
    /** The routes of a router. */
    readonly routes?: readonly Route[];
  };
}

/**
 * Loads the HTTP functions of a folder: one route for each file that `findRouteFiles` finds, and
 * the routes of routers (`notes.router.ts`).
 *
 * @param folder The folder, such as `src/functions/api`.
 * @returns The routes with their functions, the most specific first.
 * @throws {ConfigurationError} If a file does not export `handler`.
 */
export async function loadRoutes(folder: string): Promise<LocalRoute[]> {
  const single = findRouteFiles(folder).map(async ({ file, ...route }): Promise<LocalRoute[]> => {
    const handler = await loadHandler(file, "defineApiHandler({ … })(…)");
    return [{ ...route, handler, operation: handler.operation }];
  });
  const several = readRouteFiles(folder).routers.map(async ({ file, name }) => {
    const handler = await loadHandler(file, "defineRouter({ … })");
    return (handler.routes ?? []).map(({ method, path, handler: { operation } }): LocalRoute => ({
      method,
      path,
      name,
      handler,
      operation,
    }));
  });
  return sortRoutes((await Promise.all([...single, ...several])).flat());
}

async function loadHandler(
  file: string,
  example: string,
): Promise<NonNullable<RouteModule["handler"]>> {
  const { handler } = await importFile<RouteModule>(file);
  if (typeof handler === "function") return handler;
  throw new ConfigurationError(
    `${file} does not export a handler. Write export const handler = ${example}`,
  );
}
