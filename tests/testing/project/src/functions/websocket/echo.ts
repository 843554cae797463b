import { defineWebSocketHandler } from "../../../../../../triggers/mod.ts";

export const handler = defineWebSocketHandler()(({ event }) => ({
  statusCode: 200,
  body: `echo of ${event.body}`,
}));
