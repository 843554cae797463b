import { join, resolve } from "node:path";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { Cleanup } from "./cleanup.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import { FunctionStore } from "./functions/function_store.ts";
import {
  getAwsEnvironment,
  getBucketEnvironment,
  getInfraEnvironment,
} from "./infra_environment.ts";
import { type LocalDatabase, namesServer, openLocalDatabase } from "./local_database.ts";
import { getProjectName, LocalEnvironment } from "./local_environment.ts";
import { MAIL_PATH } from "./mailbox.ts";
import { waitAtMost } from "./pending_work.ts";
import { createRecorder, type Recorder } from "./functions/recorder.ts";
import { recordStatements } from "./functions/statement_recorder.ts";

/** Projects with at most this many functions load all of them at startup, to report errors early. */
const MAX_PRELOADED = 100;
const PRELOAD_MS = 10_000;

/** The functions of a project with their environment and database. */
export interface LocalProject {
  readonly name: string;
  readonly environment: LocalEnvironment;
  readonly recorder: Recorder;
  readonly store: FunctionStore;
  readonly database: LocalDatabase;
  /** Absolute paths of the sources that were loaded. */
  readonly sources: ReadonlySet<string>;
}

/**
 * Opens a project: sets the environment of its functions, finds them and opens the database.
 *
 * @param dataDir The folder of local data.
 * @param url The address of the server.
 * @param cleanup Gets the steps that close the project.
 * @throws {ConfigurationError} If a setting is invalid.
 */
export async function openProject(
  options: DevServerOptions,
  dataDir: string,
  url: string,
  cleanup: Cleanup,
): Promise<LocalProject> {
  const { root, config, terminal } = options;
  const name = getProjectName(root);
  const environment = new LocalEnvironment({
    root,
    secretsFile: join(dataDir, "secrets.json"),
    ports: { from: config.dev.port, to: Number(new URL(url).port) },
    onMoved: (variable, value) => terminal.note(`${variable} is ${value}: the port of this server`),
  });
  cleanup.add(() => environment.restore());
  provideDefaults(environment, config, name, url);

  const recorder = createRecorder(options.onLogText);
  cleanup.add(() => recorder.stop());
  recorder.listen((event) => terminal.show(event));

  const sources = new Set<string>();
  const store = openStore(options, dataDir, environment, { recorder, sources });
  const database = await openDatabase(options, dataDir, { environment, recorder });
  cleanup.add(() => database.close());
  return { name, environment, recorder, store, database, sources };
}

/** Loads the functions of small projects, so that errors are reported at startup. */
export async function preloadFunctions(
  store: FunctionStore,
  functions: readonly FunctionFile[],
): Promise<void> {
  if (functions.length > MAX_PRELOADED) return;
  await waitAtMost(PRELOAD_MS, Promise.allSettled(functions.map((fn) => store.load(fn))));
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
    // deployed functions have Lambda's version of Node.js
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
    ...getAwsEnvironment(url),
  });
  environment.provide(getInfraEnvironment(config, url));
  environment.provide(getBucketEnvironment(config, url));
}

function openStore(
  { root, config, terminal }: DevServerOptions,
  dataDir: string,
  environment: LocalEnvironment,
  { recorder, sources }: { readonly recorder: Recorder; readonly sources: Set<string> },
): FunctionStore {
  const missing = new Set<string>();
  return new FunctionStore({
    root,
    functionsDir: resolve(root, config.functionsDir),
    naming: config,
    outDir: join(dataDir, "functions"),
    beforeLoad(files): void {
      const loaded = [...files];
      for (const file of loaded) sources.add(file);
      for (const name of environment.provideFor(loaded)) {
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
  { root, config, reset, terminal, database }: DevServerOptions,
  dataDir: string,
  { environment, recorder }: Pick<LocalProject, "environment" | "recorder">,
): Promise<LocalDatabase> {
  const choice = database ?? (namesServer() ? "env" : "embedded");
  const { migrationsDir, translation } = config.database;
  return await openLocalDatabase({
    choice,
    root,
    dataDir,
    migrationsDir: resolve(root, migrationsDir),
    translation,
    seedFile: config.dev.seed === undefined ? undefined : resolve(root, config.dev.seed),
    reset,
    step: terminal.step,
    onOpened: (pglite) => recordStatements(pglite, recorder.keepStatement),
    onWarning: (text) => terminal.warn(text),
  }, (values) => choice === "distsql" ? environment.override(values) : environment.provide(values));
}
