import { defineWebSocketHandler } from "@trellis/fn/triggers";
import { connections } from "../../sockets.ts";

export const handler = defineWebSocketHandler({ auth: "none" })(
  async function connect({ connectionId }) {
    await connections.subscribe(connectionId, "rooms");
  },
);
