import process from "node:process";
import type { DatabaseSettings } from "../../database/config/config.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { type CommandContext, type CommandOption, UsageError } from "../terminal/command.ts";
import type { DatabaseTarget } from "./to_database_target.ts";
import { decodePercent } from "../../core/http/percent_encoding.ts";

/** The option that confirms {@link confirmRemote} in advance. */
export const YES_OPTION: CommandOption = {
  name: "yes",
  short: "y",
  description: "Do not ask before using a remote database.",
};

/** The location of a database for messages. */
interface Location {
  /** All hosts of a connection string; drivers differ in which of them they use. */
  readonly hosts: readonly string[];
  readonly database: string;
  readonly role: string;
}

/**
 * Asks for confirmation before a command uses a remote database. Prints host, database and role of
 * each one.
 *
 * @param what The planned action, such as `Run 2 migrations`.
 * @param targets The databases by their role in the command.
 * @throws {UsageError} If no terminal is attached and `--yes` is missing.
 * @throws {ConfigurationError} If the answer is no.
 */
export async function confirmRemote(
  context: CommandContext,
  what: string,
  targets: Readonly<Record<string, DatabaseTarget>>,
): Promise<void> {
  const { options, output } = context;
  const remote = Object.entries(targets).filter(([, { config }]) => !isLocal(config));
  if (remote.length === 0) return;
  for (const [name, { config }] of remote) {
    const { hosts, database, role } = locate(config);
    const host = [...new Set(hosts)].filter((each) => each !== "").join(", ");
    output.note(`${name}: host ${host}, database ${database}, role ${role}`);
  }
  if (options.yes === true) return;
  const answer = await context.confirm(`${what}?`);
  if (answer === undefined) {
    throw new UsageError(
      "This database is remote and no terminal is attached for a confirmation: use --yes",
    );
  }
  if (!answer) throw new ConfigurationError("Cancelled: nothing was done");
}

/** Checks whether a database runs on this machine. */
export function isLocal(config: DatabaseSettings): boolean {
  if (config.provider === "embedded-pg") return true;
  const { connectionString = "" } = config;
  if (connectionString.startsWith("rds-data://")) {
    const endpoint = process.env.AWS_ENDPOINT_URL_RDS_DATA ?? process.env.AWS_ENDPOINT_URL;
    return endpoint !== undefined && URL.canParse(endpoint) &&
      isLoopback(new URL(endpoint).hostname);
  }
  return locate(config).hosts.every((host) => isLoopback(host.replace(/:\d+$/, "")));
}

/** Checks for a loopback address, a name below `localhost`, or the folder of a Unix socket. */
function isLoopback(host: string): boolean {
  return host === "" || host.startsWith("/") || /^(?:.*\.)?localhost$/i.test(host) ||
    /^127(?:\.\d{1,3}){3}$/.test(host) || /^\[?(?:::1|::ffff:127\.[\d.]+)\]?$/i.test(host);
}

/** Reads the location of a database. */
function locate(config: DatabaseSettings): Location {
  const { provider, connectionString = "", endpoint = "", username, host: ownHost } = config;
  if (provider === "distsql") {
    return { hosts: [endpoint], database: "postgres", role: username ?? "admin" };
  }
  if (ownHost !== undefined) {
    const { database = "postgres" } = config;
    const host = ownHost.includes(":") ? `[${ownHost}]` : ownHost;
    return { hosts: [host], database, role: username ?? "" };
  }
  const [, address = "", path = "", query = ""] =
    /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)\/?([^?#]*)(?:\?([^#]*))?/i.exec(connectionString) ?? [];
  const parameters = new URLSearchParams(query);
  if (connectionString.startsWith("rds-data://")) {
    const cluster = `${address}${path === "" ? "" : `/${path}`}`;
    const database = parameters.get("database") ?? "postgres";
    return { hosts: [cluster], database, role: "(from the secret)" };
  }
  const at = address.lastIndexOf("@");
  const user = at < 0 ? "" : decodePercent(address.slice(0, at).split(":")[0]);
  const role = user || parameters.get("user") || process.env.PGUSER || "(system user)";
  const host = address.slice(at + 1) || (process.env.PGHOST ?? "");
  const hosts = [host, ...parameters.getAll("host"), ...parameters.getAll("hostaddr")]
    .flatMap((each) => each.split(","));
  return { hosts, database: decodePercent(path) || role, role };
}
