import { defineWebSocketHandler } from "../../../../../../triggers/mod.ts";
import { session } from "../../auth.ts";
import { connections } from "../../sockets.ts";

export const handler = defineWebSocketHandler({ auth: session() })(async (params) => {
  if (params.eventType === "CONNECT") await connections.subscribe(params.connectionId, "room");
});
