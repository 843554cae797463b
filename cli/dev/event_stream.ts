import type { ServerResponse } from "node:http";
import type { Call, DevEvent, Recorder } from "./functions/recorder.ts";

/** Sends recorded events to open pages as server-sent events. */
export interface EventStream {
  /** Keeps a response open and sends all further events to it. */
  connect(response: ServerResponse): void;
  /** Ends all open responses. */
  close(): void;
}

/** Creates the stream of a recorder's events. */
export function createEventStream(recorder: Recorder): EventStream {
  const responses = new Set<ServerResponse>();
  const unlisten = recorder.listen((event) => {
    const text = `data: ${JSON.stringify(toMessage(event))}\n\n`;
    for (const response of responses) response.write(text);
  });
  return {
    connect(response): void {
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      response.write("retry: 1000\n\n");
      responses.add(response);
      response.on("close", () => responses.delete(response));
    },
    close(): void {
      unlisten();
      for (const response of responses) response.end();
    },
  };
}

function toMessage(event: DevEvent): unknown {
  return event.type === "call" ? { type: "call", call: getSummary(event.call) } : event;
}

/** Returns a call without its details, for lists. */
export function getSummary(call: Call): Partial<Call> & { logCount: number } {
  const { logs, spans: _spans, metrics: _metrics, input: _input, output: _output, ...summary } =
    call;
  return { ...summary, logCount: logs.length };
}
