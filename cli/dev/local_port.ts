/** The port that a project's addresses name, and the one that its server has. */
export interface MovedPort {
  readonly from: number;
  readonly to: number;
}

const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Replaces the port of local addresses. Other values, and addresses with another port, stay.
 *
 * @param value An address, or several that are separated by commas.
 * @param ports The ports; omitted to change nothing.
 */
export function moveLocalPort(value: string, ports: MovedPort | undefined): string {
  if (ports === undefined || ports.from === ports.to) return value;
  return value.split(",").map((address) => moveAddress(address, ports)).join(",");
}

function moveAddress(address: string, { from, to }: MovedPort): string {
  if (!URL.canParse(address)) return address;
  const { protocol, hostname, port } = new URL(address);
  const isOwn = /^(?:https?|wss?):$/.test(protocol) && LOCAL_HOSTS.includes(hostname) &&
    port === String(from);
  return isOwn ? address.replace(`:${from}`, `:${to}`) : address;
}
