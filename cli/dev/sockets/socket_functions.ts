import type { WebSocketEvent, WebSocketResult } from "../../../core/triggers/trigger_events.ts";
import type { FunctionFile } from "../../discovery/function_files.ts";
import type { FunctionStore } from "../functions/function_store.ts";
import type { Invoker } from "../functions/invoker.ts";

/** The functions that API Gateway calls for a WebSocket API. */
export interface SocketFunctions {
  /** Returns the function of a route, e.g. `$connect`. */
  find(routeKey: string): FunctionFile | undefined;
  /** Calls a function; an error becomes status 500. */
  invoke(fn: FunctionFile, event: WebSocketEvent): Promise<WebSocketResult>;
}

/** Creates the access to the functions in `websocket/`. */
export function createSocketFunctions(store: FunctionStore, invoker: Invoker): SocketFunctions {
  return {
    find: (routeKey) =>
      store.list().find((fn) => fn.kind === "websocket" && fn.routeKey === routeKey),
    async invoke(fn, event): Promise<WebSocketResult> {
      const context = { ...event.requestContext, domainName: "localhost", stage: "local" };
      const { result, error } = await invoker.invoke(fn, { ...event, requestContext: context }, {
        title: `${fn.name} ← ${event.requestContext.routeKey}`,
      });
      if (error !== undefined) return { statusCode: 500 };
      return (result ?? { statusCode: 200 }) as WebSocketResult;
    },
  };
}
