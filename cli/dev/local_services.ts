import type { Cleanup } from "./cleanup.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import type { Invoker } from "./functions/invoker.ts";
import type { Gateway } from "./http/http_server.ts";
import type { MigrationWatch } from "./local_migrations.ts";
import type { LocalProject } from "./open_project.ts";
import type { PendingWork } from "./pending_work.ts";

/** The parts of the local server that its endpoints use. */
export interface LocalServices {
  readonly options: DevServerOptions;
  readonly project: LocalProject;
  readonly server: Gateway;
  readonly invoker: Invoker;
  readonly pending: PendingWork;
  readonly migrations: MigrationWatch;
  /** The folder of local data. */
  readonly dataDir: string;
  /** Gets the steps that close the endpoints. */
  readonly cleanup: Cleanup;
}
