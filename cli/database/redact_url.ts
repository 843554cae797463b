/**
 * Removes secrets from a connection string; user, host and database are kept.
 *
 * @returns A printable string.
 */
export function redactUrl(url: string): string {
  if (url.startsWith("rds-data://")) {
    const [cluster, query = ""] = url.split("?");
    const database = new URLSearchParams(query).get("database");
    return database === null ? cluster : `${cluster} ${database}`;
  }
  try {
    const { protocol, username, host, pathname } = new URL(url);
    return `${protocol}//${
      username === "" ? "" : `${decodeURIComponent(username)}@`
    }${host}${pathname}`;
  } catch {
    return "an invalid connection string";
  }
}
