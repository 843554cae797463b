import { defineWebSocketHandler } from "../../../../../../triggers/mod.ts";
import { connections } from "../../sockets.ts";

export const handler = defineWebSocketHandler()(({ connectionId }) =>
  connections.remove(connectionId)
);
