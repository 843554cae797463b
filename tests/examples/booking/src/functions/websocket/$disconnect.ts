import { defineWebSocketHandler } from "@trellis/fn/triggers";
import { connections } from "../../sockets.ts";

export const handler = defineWebSocketHandler()(async function disconnect({ connectionId }) {
  await connections.remove(connectionId);
});
