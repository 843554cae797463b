import * as z from "zod";
import { defineWebSocketHandler } from "../../../../../../triggers/mod.ts";
import { publisher } from "../../sockets.ts";

export const handler = defineWebSocketHandler({ schema: z.object({ text: z.string() }) })(
  async function say(params) {
    if (params.eventType !== "MESSAGE") return;
    await publisher.publish("room", { text: params.body.text });
    // the route is not two-way
    return { statusCode: 200, body: "said" };
  },
);
