import { ConfigurationError } from "../../errors/http_errors.ts";
import { findRouteFiles } from "../discovery/route_files.ts";
import { importFile } from "../import_file.ts";
import type { LocalRoute } from "./route_table.ts";

interface RouteModule {
  readonly handler?: LocalRoute["handler"] & Pick<LocalRoute, "operation">;
}

/**
 * Loads the HTTP functions of a folder, one for each file that `findRouteFiles` finds.
 *
 * @param folder The folder, such as `src/functions/api`.
 * @returns The routes with their functions.
 * @throws {ConfigurationError} If a file does not export `handler`.
 */
export async function loadRoutes(folder: string): Promise<LocalRoute[]> {
  return await Promise.all(
    findRouteFiles(folder).map(async ({ file, ...route }) => {
      const { handler } = await importFile<RouteModule>(file);
      if (typeof handler !== "function") {
        throw new ConfigurationError(
          `${file} does not export a handler. Write export ` +
            `const handler = defineApiHandler({ … })(…)`,
        );
      }
      return { ...route, handler, operation: handler.operation };
    }),
  );
}
