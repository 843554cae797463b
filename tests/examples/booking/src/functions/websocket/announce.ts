import { defineWebSocketHandler } from "@trellis/fn/triggers";
import * as z from "zod";
import { publisher } from "../../sockets.ts";

export const handler = defineWebSocketHandler({ schema: z.object({ text: z.string() }) })(
  async function announce(params) {
    if (params.eventType !== "MESSAGE") return;
    await publisher.publish("rooms", { text: params.body.text });
  },
);
