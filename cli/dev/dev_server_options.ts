import type { ResolvedConfig } from "../config/config.ts";
import type { DatabaseChoice } from "./local_database.ts";
import type { Terminal } from "./terminal.ts";

/** Options of `startDevServer`. */
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
