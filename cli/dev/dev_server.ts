import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { ServiceUnavailableError } from "../../errors/http_errors.ts";
import { logError } from "../../observability/logger.ts";
import { findFunctionFiles, type FunctionFile } from "../discovery/function_files.ts";
import { type Cleanup, createCleanup } from "./cleanup.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import { type Gateway, listenOnLoopback, type LocalHandler } from "./http/http_server.ts";
import { takeInstanceLock } from "../files/instance_lock.ts";
import { Invoker } from "./functions/invoker.ts";
import { createLocalEndpoints } from "./local_endpoints.ts";
import { type LocalProject, openProject, preloadFunctions } from "./open_project.ts";
import { createPendingWork } from "./pending_work.ts";
import { startRelayTimer } from "./relay_timer.ts";
import { loadWebSockets } from "./socket_gateway.ts";
import { SOCKET_PATH } from "./socket_paths.ts";
import { watchMigrations } from "./local_migrations.ts";
import { watchClientTypes, watchProject } from "./watch_project.ts";

/** A running dev server. */
export interface DevServer {
  readonly url: string;
  readonly port: number;
  readonly project: string;
  readonly functions: readonly FunctionFile[];
  /** The address of the WebSocket API, if there is one. */
  readonly sockets: string | undefined;
  /** A description of the database. */
  readonly database: string;
  /** Returns the names of the generated secrets. */
  secrets(): string[];
  /** Applies the migrations that wait for a confirmation. */
  confirmMigrations(): Promise<void>;
  /** Stops accepting requests, waits for running calls, and closes everything. */
  stop(): Promise<void>;
}

/** How long running calls may take when the server stops. */
const GRACE_MS = 2000;

/**
 * Serves all functions of a project on one local address.
 *
 * @returns The running server.
 * @throws {ConfigurationError} If the port is in use, the project is already served, or a setting is
 * invalid.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const { root, config } = options;
  // checks the project before anything is written to its folder
  findFunctionFiles(resolve(root, config.functionsDir), config);
  const dataDir = createDataDir(root);
  const cleanup = createCleanup();
  try {
    // stack traces show source lines instead of bundle lines; Deno does this by default
    process.setSourceMapsEnabled?.(true);
    cleanup.add(takeInstanceLock(join(dataDir, "lock")));
    return await start(options, dataDir, cleanup);
  } catch (error) {
    await cleanup.run();
    throw error;
  }
}

async function start(
  options: DevServerOptions,
  dataDir: string,
  cleanup: Cleanup,
): Promise<DevServer> {
  const { config, terminal } = options;
  // listens before the slow steps, so that a busy port is reported at once
  const { server, open } = await listenDeferred(options.port);
  cleanup.add(() => server.stop());
  const project = await openProject(options, dataDir, server.url, cleanup);
  const { environment, recorder, store, database } = project;
  const pending = createPendingWork();
  const invoker = new Invoker({ store, recorder, authorizer: config.infra.api.authorizer });

  const functions = await terminal.step("Loading functions", async () => {
    await store.scan();
    const found = store.list();
    await preloadFunctions(store, found);
    return found;
  });
  terminal.flush();
  const hasSockets = functions.some(({ kind }) => kind === "websocket");
  if (hasSockets) {
    await loadWebSockets().catch((error: Error) => terminal.warn(error.message));
  }
  await openWithoutMigrations(options, project);

  const migrations = watchMigrations(options, project, () => pending.settle(GRACE_MS));
  const services = { options, project, server, invoker, pending, migrations, dataDir, cleanup };
  const answer = createLocalEndpoints(services);
  let isStopping = false;
  open(async function answerUnlessStopping(request, response, url): Promise<void> {
    if (isStopping) throw new ServiceUnavailableError("The server is stopping");
    await answer(request, response, url);
  });
  const { track } = pending;
  cleanup.add(startRelayTimer({ store, invoker, database: database.config, track }));
  const clientTypes = watchClientTypes(options, store);
  cleanup.add(() => clientTypes.settled());
  cleanup.add(() => migrations.settled());
  const watcher = watchProject(options, project, { clientTypes, migrations });
  cleanup.add(() => watcher.stop());
  cleanup.add(() => pending.settle(GRACE_MS));
  cleanup.add(logUnhandledRejections());
  cleanup.add(() => isStopping = true);
  return {
    project: project.name,
    functions,
    url: server.url,
    port: server.port,
    sockets: hasSockets ? `ws://localhost:${server.port}${SOCKET_PATH}` : undefined,
    database: database.summary,
    secrets: () => environment.generated(),
    confirmMigrations: () => migrations.confirm(),
    stop: () => cleanup.run(),
  };
}

/** Opens the database of functions that use one, if no migration has opened it, and says what is missing. */
async function openWithoutMigrations(
  { root, config: { database: { migrationsDir } }, terminal }: DevServerOptions,
  { database, sources }: LocalProject,
): Promise<void> {
  if (database.open === undefined || existsSync(resolve(root, migrationsDir))) return;
  const uses = (file: string) => /["']@trellis\/fn\/database["'/]/.test(readFileSync(file, "utf8"));
  if (![...sources].some(uses)) return;
  await database.open();
  terminal.warn(
    `The folder ${migrationsDir} does not exist, so the local database has no tables: ` +
      "trellis generate migration <name> writes those of your schema",
  );
}

/** Creates the folder of local data, which git ignores. */
function createDataDir(root: string): string {
  const dataDir = join(root, ".trellis", "dev");
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(root, ".trellis", ".gitignore"), "*\n");
  return dataDir;
}

/** Starts to listen; requests wait until the returned function sets their handler. */
async function listenDeferred(
  port: number,
): Promise<{ readonly server: Gateway; readonly open: (handle: LocalHandler) => void }> {
  let open!: (handle: LocalHandler) => void;
  const ready = new Promise<LocalHandler>((resolve) => open = resolve);
  const server = await listenOnLoopback(async (...request) => (await ready)(...request), port);
  return { server, open };
}

/** Logs unhandled rejections of functions instead of ending the process. Returns how to stop. */
function logUnhandledRejections(): () => void {
  const logRejection = (error: unknown) => logError("unhandled promise rejection", { error });
  process.on("unhandledRejection", logRejection);
  return () => void process.off("unhandledRejection", logRejection);
}
