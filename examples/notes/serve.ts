import { type Gateway, loadRoutes, startGateway } from "@trellis/fn/cli";
import { getHeader } from "@trellis/fn/core";
import { closeDrizzleClient, runMigrations } from "@trellis/fn/database";
import { createJobWorker } from "@trellis/fn/jobs";
import { type ApiRoute, buildOpenApiDocument } from "@trellis/fn/validation";
import { fileURLToPath } from "node:url";

/** The running application. */
export interface NotesServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Migrates the database and serves the functions on the loopback address. `local_environment.ts`
 * sets the environment.
 *
 * @param port The port, 0 for a free one.
 */
export async function serveNotes(port: number): Promise<NotesServer> {
  // checks the port before starting the database
  await (await startGateway({ routes: [], port })).stop();
  const { databaseConfig, getDb } = await import("./src/database.ts");
  await runMigrations({
    migrationsFolder: fileURLToPath(new URL("./migrations", import.meta.url)),
    database: databaseConfig,
  });
  const { findCaller } = await import("./src/authorizer.ts");
  const routes = await loadRoutes(fileURLToPath(new URL("./src/functions/api", import.meta.url)));
  const document = buildOpenApiDocument(
    { title: "Notes", version: "1.0.0", description: "The example application of Trellis." },
    routes.filter((route): route is typeof route & ApiRoute => route.operation !== undefined),
  );
  let gateway: Gateway;
  try {
    gateway = await startGateway({
      routes,
      port,
      authorizer: async (event) => ({
        ...await findCaller(getHeader(event, "Authorization")?.replace(/^bearer +/i, "")),
      }),
      pages: {
        "/openapi.json": {
          contentType: "application/json",
          body: JSON.stringify(document, null, 2),
        },
      },
    });
  } catch (error) {
    await closeDrizzleClient();
    throw error;
  }
  const { removeOldDeliveriesJob } = await import("./src/jobs.ts");
  const { welcomeMail } = await import("./src/mails.ts");
  // what src/functions/schedule/jobs-relay.ts does each minute
  const worker = createJobWorker({ getDb, jobs: [removeOldDeliveriesJob, welcomeMail.job] });
  worker.start();
  return {
    url: gateway.url,
    async stop(): Promise<void> {
      await gateway.stop();
      await worker.stop();
      await closeDrizzleClient();
    },
  };
}
