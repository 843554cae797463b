import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { ServiceUnavailableError } from "../../errors/http_errors.ts";
import { logError } from "../../observability/logger.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { findFunctionFiles, type FunctionFile } from "../discovery/function_files.ts";
import { answerAwsClient, assertNoPage, AWS_PATH } from "./aws_sink.ts";
import { type Cleanup, createCleanup } from "./cleanup.ts";
import { createFunctionStore, type FunctionStore } from "./function_store.ts";
import { type Gateway, listenOnLoopback, type LocalHandler, readBody } from "./http_server.ts";
import {
  getAwsEnvironment,
  getBucketEnvironment,
  getInfraEnvironment,
} from "./infra_environment.ts";
import { takeInstanceLock } from "./instance_lock.ts";
import { createInvoker } from "./invoker.ts";
import {
  type DatabaseChoice,
  type LocalDatabase,
  namesServer,
  openLocalDatabase,
} from "./local_database.ts";
import { buildLocalDocument } from "./local_document.ts";
import {
  createLocalEnvironment,
  getProjectName,
  type LocalEnvironment,
} from "./local_environment.ts";
import { type ClientWatch, createClientWatch } from "./client_watch.ts";
import { createLocalAccounts } from "./accounts.ts";
import { createMailbox, MAIL_PATH } from "./mailbox.ts";
import { createMessageBus } from "./message_bus.ts";
import { createPageApi } from "./page_api.ts";
import { createPendingWork, waitAtMost } from "./pending_work.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import { startRelayTimer } from "./relay_timer.ts";
import { createRouteHandler, toGatewayFailure } from "./route_handler.ts";
import { openBucketStore } from "./s3/bucket_store.ts";
import { CONNECTIONS_PATH, createSocketGateway } from "./sockets/socket_gateway.ts";
import { createS3Target, S3_PATH } from "./s3/s3_target.ts";
import type { Terminal } from "./terminal.ts";
import { createFolderWatcher, type FolderWatcher } from "./watch_folders.ts";

/** Options of {@link startDevServer}. */
export interface DevServerOptions {
  /** Absolute path of the project. */
  readonly root: string;
  readonly config: ResolvedConfig;
  /** The port; 0 picks a free one. */
  readonly port: number;
  /**
   * The database of the functions.
   * @default "env" if the environment configures a server, else "embedded"
   */
  readonly database?: DatabaseChoice;
  /** Deletes the local data before starting. */
  readonly reset?: boolean;
  /** Called with the raw text of log lines as well. */
  readonly onLogText?: (text: string) => void;
  readonly terminal: Terminal;
}

/** A running dev server. */
export interface DevServer {
  readonly url: string;
  readonly port: number;
  readonly project: string;
  readonly functions: readonly FunctionFile[];
  /** A description of the database. */
  readonly database: string;
  /** Returns the names of the generated secrets. */
  secrets(): string[];
  /** Stops accepting requests, waits for running calls, and closes everything. */
  stop(): Promise<void>;
}

/** Projects with at most this many functions load all of them at startup, to report errors early. */
const MAX_PRELOADED = 100;
const PRELOAD_MS = 10_000;
/** How long running calls may take when the server stops. */
const GRACE_MS = 2000;

/**
 * Serves all functions of a project on one local address.
 *
 * @param options The project and its settings.
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
  const { root, config, terminal } = options;
  // listens before the slow steps, so that a busy port is reported at once
  const { server, open } = await listenDeferred(options.port);
  cleanup.add(() => server.stop());

  const project = getProjectName(root);
  const choice = options.database ?? (namesServer() ? "env" : "embedded");
  const environment = createLocalEnvironment({ root, secretsFile: join(dataDir, "secrets.json") });
  cleanup.add(() => environment.restore());
  provideDefaults(environment, config, project, server.url);

  const recorder = createRecorder(options.onLogText);
  cleanup.add(() => recorder.stop());
  recorder.listen((event) => terminal.show(event));

  const store = openStore(options, dataDir, environment, recorder);
  const database = await openDatabase(options, choice, dataDir, environment);
  cleanup.add(() => database.close());

  const pending = createPendingWork();
  const { functions: wiring, api: { authorizer } } = config.infra;
  const invoker = createInvoker({ store, recorder, authorizer });
  const bus = createMessageBus({ store, invoker, recorder, wiring, track: pending.track });
  const settings = config.infra.websocket;
  const sockets = createSocketGateway({ store, invoker, settings, wiring, track: pending.track });
  server.onUpgrade((...handshake) => sockets.accept(...handshake));
  const buckets = join(dataDir, "buckets");
  if (options.reset) rmSync(buckets, { recursive: true, force: true });
  const answerS3 = createS3Target(openBucketStore(buckets), bus.take);
  const mailbox = createMailbox(recorder);
  const answerRoute = createRouteHandler({ environment, store, recorder, invoker, pending });
  const page = createPageApi({
    project,
    url: server.url,
    database,
    recorder,
    store,
    invoker,
    sent: bus.sent,
    mails: mailbox.mails,
    // a session for any user may be created in a local database only
    accounts: database.config === undefined ? undefined : createLocalAccounts(store),
    secrets: () => environment.generated(),
    document: () => buildLocalDocument(root, store.list(), config),
    toFailure: (error) => toGatewayFailure({ headers: {} }, error),
    track: pending.track,
  });
  cleanup.add(() => page.close());

  const functions = store.list();
  await preload(store, functions);
  terminal.flush();

  let isStopping = false;
  open(async function answer(request, response, url): Promise<void> {
    if (isStopping) throw new ServiceUnavailableError("The server is stopping");
    if (url.pathname === AWS_PATH || url.pathname.startsWith(`${AWS_PATH}/`)) {
      assertNoPage(request);
      return answerAwsClient(request, response, await readBody(request), server.url, bus.take);
    }
    if (url.pathname.startsWith(`${CONNECTIONS_PATH}/`)) {
      return await sockets.answer(request, response, url);
    }
    if (url.pathname.startsWith(`${S3_PATH}/`)) return await answerS3(request, response, url);
    if (url.pathname === MAIL_PATH && request.method === "POST") {
      assertNoPage(request);
      mailbox.take((await readBody(request)).toString("utf8"));
      response.writeHead(202).end();
      return;
    }
    if (await page.answer(request, response, url)) return;
    await answerRoute(request, response, url);
  });

  cleanup.add(
    startRelayTimer({ store, invoker, database: database.config, track: pending.track }),
  );
  const clientTypes = watchClientTypes(options, store);
  const watcher = watchProject(options, environment, store, recorder, clientTypes);
  cleanup.add(() => clientTypes.settled());
  cleanup.add(() => watcher.stop());
  cleanup.add(() => sockets.close());
  cleanup.add(() => pending.settle(GRACE_MS));
  cleanup.add(logUnhandledRejections());
  cleanup.add(() => isStopping = true);
  return {
    project,
    functions,
    url: server.url,
    port: server.port,
    database: database.summary,
    secrets: () => environment.generated(),
    stop: () => cleanup.run(),
  };
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

/** Sets the variables of the functions that neither the shell nor `.env` has set. */
function provideDefaults(
  environment: LocalEnvironment,
  config: ResolvedConfig,
  project: string,
  url: string,
): void {
  environment.refresh();
  environment.provide({
    SERVICE_NAME: project,
    LOG_LEVEL: "DEBUG",
    TRELLIS_MAIL_URL: `${url}${MAIL_PATH}`,
    ...getAwsEnvironment(url),
  });
  environment.provide(getInfraEnvironment(config, url));
  environment.provide(getBucketEnvironment(config, url));
}

function openStore(
  { root, config, terminal }: DevServerOptions,
  dataDir: string,
  environment: LocalEnvironment,
  recorder: Recorder,
): FunctionStore {
  const missing = new Set<string>();
  return createFunctionStore({
    root,
    functionsDir: resolve(root, config.functionsDir),
    naming: config,
    outDir: join(dataDir, "functions"),
    beforeLoad(files): void {
      for (const name of environment.provideFor(files)) {
        if (!missing.has(name)) {
          terminal.warn(`${name} is not set: add it to ${join(root, ".env")}`);
        }
        missing.add(name);
      }
    },
    onLoaded(fn, isReload): void {
      if (isReload) terminal.reloaded(fn);
      recorder.emit({ type: "functions" });
    },
    onFailed(fn, error): void {
      terminal.failed(fn, error);
      recorder.emit({ type: "functions" });
    },
  });
}

async function openDatabase(
  { root, config, reset, terminal }: DevServerOptions,
  choice: DatabaseChoice,
  dataDir: string,
  environment: LocalEnvironment,
): Promise<LocalDatabase> {
  const { migrationsDir, translation } = config.database;
  return await openLocalDatabase({
    choice,
    root,
    dataDir,
    migrationsDir: resolve(root, migrationsDir),
    translation,
    seedFile: config.dev.seed === undefined ? undefined : resolve(root, config.dev.seed),
    reset,
    onProgress: (text) => terminal.progress(text),
    onWarning: (text) => terminal.warn(text),
  }, (values) => choice === "distsql" ? environment.override(values) : environment.provide(values));
}

/** Loads the functions of small projects, so that errors are reported at startup. */
async function preload(store: FunctionStore, functions: readonly FunctionFile[]): Promise<void> {
  if (functions.length > MAX_PRELOADED) return;
  await waitAtMost(PRELOAD_MS, Promise.allSettled(functions.map((fn) => store.load(fn))));
}

/** Keeps the types of `trellis generate client` up to date. */
function watchClientTypes(
  { root, config, terminal }: DevServerOptions,
  store: FunctionStore,
): ClientWatch {
  const watch = createClientWatch({
    root,
    config,
    list: () => store.list(),
    onWritten: (path) => terminal.progress(`updated ${path}`),
    onFailed: (reason) => terminal.warn(reason),
  });
  watch.update();
  return watch;
}

/** Reloads functions when a file in a watched folder changes. */
function watchProject(
  { root, terminal }: DevServerOptions,
  environment: LocalEnvironment,
  store: FunctionStore,
  recorder: Recorder,
  clientTypes: ClientWatch,
): FolderWatcher {
  const watcher = createFolderWatcher(async function onChange() {
    if (environment.refresh()) store.invalidate();
    const before = store.list();
    try {
      await store.refresh();
    } catch (error) {
      terminal.warn((error as Error).message);
    }
    if (store.list() !== before) recorder.emit({ type: "functions" });
    clientTypes.update();
    watchFolders();
  });
  const watchFolders = () => watcher.watch(new Set([root, ...store.folders()]));
  watchFolders();
  return watcher;
}

/** Logs unhandled rejections of functions instead of ending the process. Returns how to stop. */
function logUnhandledRejections(): () => void {
  const logRejection = (error: unknown) => logError("unhandled promise rejection", { error });
  process.on("unhandledRejection", logRejection);
  return () => void process.off("unhandledRejection", logRejection);
}
