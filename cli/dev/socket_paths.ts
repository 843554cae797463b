/** The path to which clients connect. */
export const SOCKET_PATH = "/_trellis/websocket";

/** The path of the management endpoint, through which functions send messages to connections. */
export const CONNECTIONS_PATH = "/_trellis/connections";
