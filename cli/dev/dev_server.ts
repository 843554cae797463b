import { mkdirSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join, resolve } from "node:path";
import process from "node:process";
import type { ProxyResult } from "../../core/http/lambda.ts";
import { MethodNotAllowedError, ServiceUnavailableError } from "../../errors/http_errors.ts";
import { logError } from "../../observability/logger.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { findFunctionFiles, type FunctionFile } from "../discovery/function_files.ts";
import { answerAwsClient, assertNoPage, AWS_PATH } from "./aws_sink.ts";
import { BuildError } from "./build_error.ts";
import { renderBuildFailure } from "./build_failure_page.ts";
import { createFunctionStore, type FunctionStore } from "./function_store.ts";
import { listenOnLoopback, readBody, sendResult, toFailure } from "./http_server.ts";
import { takeInstanceLock } from "./instance_lock.ts";
import { getAwsEnvironment, getInfraEnvironment } from "./infra_environment.ts";
import { createInvoker } from "./invoker.ts";
import { type DatabaseChoice, namesServer, openLocalDatabase } from "./local_database.ts";
import { buildLocalDocument } from "./local_document.ts";
import { createLocalEnvironment, getProjectName } from "./local_environment.ts";
import { createMessageBus } from "./message_bus.ts";
import { createLocalRouter, type LocalMatch } from "./local_router.ts";
import { createPageApi } from "./page_api.ts";
import { type Call, createRecorder } from "./recorder.ts";
import type { Terminal } from "./terminal.ts";
import { toRestApiEvent } from "./to_event.ts";
import { createFolderWatcher } from "./watch_folders.ts";

/** Options of {@link startDevServer}. */
export interface DevServerOptions {
  /** Absolute path of the project. */
  readonly root: string;
  readonly config: ResolvedConfig;
  /** 0 takes a free one. */
  readonly port: number;
  /**
   * Which database the functions get.
   * @default "env" where the environment names a server, else "embedded"
   */
  readonly database?: DatabaseChoice;
  /** Deletes the local data first. */
  readonly reset?: boolean;
  /** Takes the raw log lines as well. */
  readonly onLogText?: (text: string) => void;
  readonly terminal: Terminal;
}

/** The application on this machine. */
export interface DevServer {
  readonly url: string;
  readonly port: number;
  readonly project: string;
  readonly functions: readonly FunctionFile[];
  /** What the database is. */
  readonly database: string;
  /** Names of the secrets that were generated so far. */
  secrets(): string[];
  /** Ends in order: requests, the database, the log. */
  stop(): Promise<void>;
}

/** So many functions are loaded at the start, so that faults show at once; beyond that each at its first call. */
const MAX_PRELOADED = 100;
const PRELOAD_MS = 10_000;
/** A call that runs while the server stops has so long. */
const GRACE_MS = 2000;

/**
 * Starts all functions of a project on one address of this machine.
 *
 * @param options The project and its settings.
 * @returns The running server.
 * @throws {ConfigurationError} When the port is in use, the project is served already, or something
 * in it is wrong.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const { root, config, terminal } = options;
  // a folder that is no project is left as it is
  findFunctionFiles(resolve(root, config.functionsDir));
  const folder = join(root, ".trellis");
  const dataDir = join(folder, "dev");
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(folder, ".gitignore"), "*\n");

  // undone in the reverse order
  const undo: (() => unknown)[] = [];
  async function stop(): Promise<void> {
    for (const step of undo.splice(0).reverse()) await step();
  }
  try {
    // stacks tell lines of the sources, not of the bundles; Deno does so by itself
    process.setSourceMapsEnabled?.(true);
    undo.push(takeInstanceLock(join(dataDir, "lock")));
    return await start();
  } catch (error) {
    await stop();
    throw error;
  }

  async function start(): Promise<DevServer> {
    let open!: (handle: Handle) => void;
    const ready = new Promise<Handle>((resolve) => open = resolve);
    // bound before the database is opened, so that a busy port is told at once
    const server = await listenOnLoopback(
      async (...request) => (await ready)(...request),
      options.port,
    );
    undo.push(() => server.stop());

    const environment = createLocalEnvironment({
      root,
      secretsFile: join(dataDir, "secrets.json"),
    });
    undo.push(() => environment.restore());
    environment.refresh();
    const project = getProjectName(root);
    const choice = options.database ?? (namesServer() ? "env" : "embedded");
    environment.provide({
      SERVICE_NAME: project,
      LOG_LEVEL: "DEBUG",
      ...getAwsEnvironment(server.url),
    });
    environment.provide(getInfraEnvironment(config, server.url));

    const running = new Set<Promise<unknown>>();
    const recorder = createRecorder(options.onLogText);
    undo.push(() => recorder.stop());
    recorder.listen((event) => terminal.show(event));

    const missing = new Set<string>();
    const store: FunctionStore = createFunctionStore({
      root,
      functionsDir: resolve(root, config.functionsDir),
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

    const database = await openLocalDatabase({
      choice,
      root,
      dataDir,
      migrationsDir: resolve(root, config.database.migrationsDir),
      translation: config.database.translation,
      seedFile: config.dev.seed === undefined ? undefined : resolve(root, config.dev.seed),
      reset: options.reset,
      onProgress: (text) => terminal.progress(text),
      onWarning: (text) => terminal.warn(text),
    }, choice === "distsql" ? environment.override : environment.provide);
    undo.push(() => database.close());

    const events = new WeakMap<Call, { fn: FunctionFile; event: unknown }>();
    const invoker = createInvoker({
      store,
      recorder,
      authorizer: config.infra.api.authorizer,
      onEvent: (call, fn, event) => void events.set(call, { fn, event }),
    });

    function track<T>(work: Promise<T>): Promise<T> {
      running.add(work);
      work.finally(() => running.delete(work)).catch(() => {});
      return work;
    }
    const bus = createMessageBus({
      store,
      invoker,
      recorder,
      wiring: config.infra.functions,
      track,
    });

    const findFunction = createLocalRouter(store);
    async function answerRoute(
      request: IncomingMessage,
      response: ServerResponse,
      url: URL,
    ): Promise<void> {
      const { method = "GET" } = request;
      const title = `${method} ${url.pathname}${url.search}`;
      if (environment.refresh()) store.invalidate();
      let found: LocalMatch;
      try {
        found = findFunction(method, url.pathname);
      } catch (error) {
        const result = preflight(request, error) ?? toFailure(request, error);
        const call = recorder.begin({ kind: "none", title, method });
        recorder.end(call, {
          status: result.statusCode,
          isFailed: result.statusCode >= 500,
          note: (error as Error).message,
        });
        return sendResult(response, result);
      }
      const body = await readBody(request);
      const event = toRestApiEvent(request, url, {
        resource: found.fn.path!,
        parameters: found.parameters,
        body,
        requestId: crypto.randomUUID(),
      });
      sendResult(
        response,
        await track(
          invoker.answer(
            found.fn,
            event,
            { title, method },
            (error) => toGatewayFailure(request, error),
          ),
        ),
      );
    }

    const page = createPageApi({
      project,
      url: server.url,
      database,
      recorder,
      store,
      invoker,
      sent: bus.sent,
      secrets: () => environment.generated(),
      document: () => buildLocalDocument(root, store.list(), config),
      getEvent: (call) => events.get(call),
      toFailure: (error) => toGatewayFailure({ headers: {} }, error),
      track,
    });
    undo.push(() => page.close());

    const functions = store.list();
    if (functions.length <= MAX_PRELOADED) {
      await within(PRELOAD_MS, Promise.allSettled(functions.map((fn) => store.load(fn))));
    }
    terminal.flush();

    let isStopping = false;
    open(async function answer(request, response, url): Promise<void> {
      if (isStopping) throw new ServiceUnavailableError("The server stops");
      if (url.pathname === AWS_PATH || url.pathname.startsWith(`${AWS_PATH}/`)) {
        assertNoPage(request);
        return answerAwsClient(request, response, await readBody(request), server.url, bus.take);
      }
      if (await page.answer(request, response, url)) return;
      await answerRoute(request, response, url);
    });

    const watcher = createFolderWatcher(async function onChange() {
      if (environment.refresh()) store.invalidate();
      const before = store.list();
      try {
        await store.refresh();
      } catch (error) {
        terminal.warn((error as Error).message);
      }
      if (store.list() !== before) recorder.emit({ type: "functions" });
      watch();
    });
    const watch = () => watcher.watch(new Set([root, ...store.folders()]));
    watch();
    undo.push(() => watcher.stop());
    undo.push(() => within(GRACE_MS, Promise.allSettled([...running])));
    process.on("unhandledRejection", tellRejection);
    undo.push(() => process.off("unhandledRejection", tellRejection));
    undo.push(() => isStopping = true);

    return {
      project,
      functions,
      url: server.url,
      port: server.port,
      database: database.summary,
      secrets: () => environment.generated(),
      stop,
    };
  }
}

type Handle = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

/** A function that forgets to await must not end the server. */
function tellRejection(error: unknown): void {
  logError("a promise was rejected and nobody handled it", { error });
}

function toGatewayFailure(request: Pick<IncomingMessage, "headers">, error: unknown): ProxyResult {
  return error instanceof BuildError
    ? renderBuildFailure(error, String(request.headers.accept ?? ""))
    : toFailure(request, error);
}

/** What the deployed API answers to a browser that asks first, where the functions allow other origins. */
function preflight(request: IncomingMessage, error: unknown): ProxyResult | undefined {
  const origin = process.env.CORS_ALLOW_ORIGIN;
  if (request.method !== "OPTIONS" || !(error instanceof MethodNotAllowedError) || !origin) {
    return undefined;
  }
  return {
    statusCode: 204,
    headers: {
      "Access-Control-Allow-Origin": origin,
      "Access-Control-Allow-Methods": String(error.headers?.Allow ?? "*"),
      "Access-Control-Allow-Headers": String(
        request.headers["access-control-request-headers"] ?? "*",
      ),
    },
    body: "",
    isBase64Encoded: false,
  };
}

/** Waits for work, but not for ever. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => timer = setTimeout(resolve, milliseconds))]);
  clearTimeout(timer);
}
