import type { RestApiEvent } from "../../core/http/lambda.ts";
import { NotFoundError } from "../../errors/http_errors.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { BuildError } from "../sources/build_error.ts";
import { toSafeOutput } from "./functions/safe_copy.ts";
import type { LocalServices } from "./local_services.ts";
import { toGatewayFailure } from "./route_handler.ts";
import { toTriggerEvent, type TriggerInput } from "./trigger_event.ts";

/** Actions of the page; each returns a JSON document. */
export interface PageActions {
  /** Invokes a function with the event of its trigger. */
  invoke(name: string, input: TriggerInput): Promise<unknown>;
  /** Repeats a recorded call with the current function. */
  replay(id: string): Promise<unknown>;
}

/** Creates the actions of the page. */
export function createPageActions(
  { project: { store, recorder }, invoker, pending: { track } }: LocalServices,
): PageActions {
  const find = (name: string) => store.list().find((fn) => fn.name === name);

  async function run(
    fn: FunctionFile,
    event: unknown,
    title: string,
    replayOf?: string,
  ): Promise<unknown> {
    const { call, result, error, failures, requestId } = await track(
      invoker.invoke(fn, event, { title, replayOf }),
    );
    if (error instanceof BuildError) throw error;
    return {
      function: fn.name,
      kind: fn.kind,
      callId: call.id,
      requestId,
      durationMs: call.durationMs,
      ...(error === undefined
        ? { result: toSafeOutput(result), failures }
        : { error: { name: (error as Error).name, message: (error as Error).message } }),
    };
  }

  return {
    async invoke(name, input): Promise<unknown> {
      let fn = find(name);
      if (fn === undefined && await store.scan()) fn = find(name);
      if (fn === undefined) throw new NotFoundError(`Unknown function ${name}`);
      return await run(fn, toTriggerEvent(fn, input), `${fn.name} (${fn.kind})`);
    },

    async replay(id): Promise<unknown> {
      const call = recorder.calls.find((each) => each.id === id);
      const invoked = call === undefined ? undefined : invoker.getEvent(call);
      if (call === undefined || invoked === undefined) {
        throw new NotFoundError("The call does not exist or is no longer kept");
      }
      // the function may have been replaced in the meantime
      const fn = find(invoked.fn.name);
      if (fn === undefined) {
        throw new NotFoundError(`The function ${invoked.fn.name} no longer exists`);
      }
      if (fn.kind !== "api") return await run(fn, invoked.event, call.title, id);
      const event = invoked.event as RestApiEvent;
      const { authorizer: _previous, ...requestContext } = event.requestContext;
      const result = await track(invoker.answer(
        fn,
        { ...event, requestContext: { ...requestContext, requestId: crypto.randomUUID() } },
        { title: call.title, method: call.method, replayOf: id },
        (error) => toGatewayFailure({ headers: {} }, error),
      ));
      return { function: fn.name, status: result.statusCode };
    },
  };
}
