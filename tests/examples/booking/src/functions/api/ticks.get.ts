import { responseStreaming, streamEvents } from "@trellis/fn/streaming";
import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";

/** How often the source was stopped, and whether its signal was aborted then. */
const stopped: boolean[] = [];

/** Streams without an end; with `?stopped` it lists the ends. */
export const handler = defineApiHandler({ streaming: responseStreaming() })(
  function getTicks({ event, context }) {
    if (event.queryStringParameters?.stopped) {
      return buildValidatedResponse(context, 200, stopped);
    }
    return streamEvents(async function* (signal) {
      try {
        for (let tick = 0;; tick++) {
          yield { id: String(tick), data: { tick } };
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      } finally {
        stopped.push(signal.aborted);
      }
    });
  },
);
