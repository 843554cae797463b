import type { AuthorizerContext, ProxyResult, RestApiEvent } from "../../../core/http/lambda.ts";
import { getStreamingHandler, type ResponseSink } from "../../../core/http/streaming.ts";
import type { RegisteredOperation } from "../../../validation/openapi/registry.ts";
import {
  GatewayError,
  runAuthorizer,
  selectAuthorizer,
  toAuthorizerEvent,
} from "../../../testing/gateway/run_authorizer.ts";
import type { FunctionFile } from "../../discovery/function_files.ts";
import type { FunctionStore, LoadedFunction } from "./function_store.ts";
import { BuildError } from "../../sources/build_error.ts";
import { createLocalContext } from "../http/http_server.ts";
import type { Call, CallStart, Recorder } from "./recorder.ts";
import { toSafeInput, toSafeOutput } from "./safe_copy.ts";

/** The outcome of an invocation without an HTTP client. */
export interface InvokeOutcome {
  readonly call: Call;
  readonly requestId: string;
  readonly result?: unknown;
  /** The error that the function threw, or why it could not be loaded. */
  readonly error?: unknown;
  /** Ids of the messages that a queue function reported as failed. */
  readonly failures: readonly string[];
}

/** The event that a function was invoked with. */
export interface InvokedEvent {
  readonly fn: FunctionFile;
  readonly event: unknown;
}

/** Options of {@link Invoker}. */
export interface InvokerOptions {
  readonly store: FunctionStore;
  /** Records calls. */
  readonly recorder: Recorder;
  /** The function in `authorizer/` of the API. Default: the only one. */
  readonly authorizer?: string;
}

/** The title of a call, and what it repeats. */
type TitledStart = Omit<CallStart, "kind" | "functionName">;

/** Invokes functions as Lambda does and records the calls. */
export class Invoker {
  readonly #options: InvokerOptions;
  readonly #events = new WeakMap<Call, InvokedEvent>();

  constructor(options: InvokerOptions) {
    this.#options = options;
  }

  /** Returns the function and event of a call, to replay it. */
  getEvent(call: Call): InvokedEvent | undefined {
    return this.#events.get(call);
  }

  /**
   * Invokes a function with an event. An error that it throws becomes part of the outcome. A call
   * that succeeds and of which `isIdle` returns true is not listed.
   */
  async invoke(
    fn: FunctionFile,
    event: unknown,
    start: TitledStart,
    isIdle?: (call: Call, result: unknown) => boolean,
  ): Promise<InvokeOutcome> {
    const { recorder } = this.#options;
    const call = this.#begin(fn, event, start, isIdle !== undefined);
    const context = createLocalContext(fn.name);
    const requestId = context.awsRequestId;
    try {
      const { handler } = await this.#load(call, fn);
      const result = await recorder.run(call, async () => await handler(event, context));
      const failures = getFailures(result);
      if (isIdle?.(call, result) === false) recorder.show(call);
      recorder.end(call, {
        ...fn.kind === "websocket" && { status: getStatus(result) },
        isFailed: failures.length > 0,
        note: failures.length > 0 ? `${failures.length} failed` : "done",
        output: toSafeOutput(result),
      });
      return { call, result, failures, requestId };
    } catch (cause) {
      const error = cause ?? new Error("rejected without a value");
      const note = describe(cause);
      recorder.show(call);
      recorder.end(call, { isFailed: true, note, output: { error: note } });
      return { call, error, failures: [], requestId };
    }
  }

  /**
   * Answers a request with its function, after the authorizer if it has one. A function that streams
   * sends its response to the sink.
   */
  async answer(
    fn: FunctionFile,
    event: RestApiEvent,
    start: TitledStart,
    toFailure: (error: unknown) => ProxyResult,
    sink?: ResponseSink,
  ): Promise<ProxyResult> {
    const { recorder, store, authorizer } = this.#options;
    const call = this.#begin(fn, event, start);
    let result: ProxyResult;
    let note: string | undefined;
    try {
      const loaded = await this.#load(call, fn);
      const { handler } = loaded;
      const operation = getOperation(loaded, fn);
      if (operation?.auth.startsWith("authorizer")) {
        const context = await authorize(this, selectAuthorizer(store.list(), authorizer), event);
        if (context !== undefined) Object.assign(event.requestContext, { authorizer: context });
      }
      const context = createLocalContext(fn.name, loaded.resources ?? operation?.resources);
      const stream = sink && getStreamingHandler(handler);
      result = await recorder.run(
        call,
        async () =>
          stream === undefined
            ? checkResult(fn, await handler(event, context))
            : await stream(event, sink!, context),
      );
    } catch (error) {
      note = describe(error);
      result = error instanceof GatewayError ? error.toResult() : toFailure(error);
    }
    recorder.end(call, {
      status: result.statusCode,
      isFailed: result.statusCode >= 500,
      note,
      output: toSafeOutput(result),
    });
    return result;
  }

  #begin(fn: FunctionFile, event: unknown, start: TitledStart, isHidden = false): Call {
    const named = { ...start, kind: fn.kind, functionName: fn.name };
    const call = this.#options.recorder.begin(named, isHidden);
    call.input = toSafeInput(event);
    this.#events.set(call, { fn, event });
    return call;
  }

  #load(call: Call, fn: FunctionFile): Promise<LoadedFunction> {
    return this.#options.recorder.run(call, () => this.#options.store.load(fn));
  }
}

/** Returns the operation of a function, or of its route. */
function getOperation(
  { operation, routes }: LoadedFunction,
  { method, path }: FunctionFile,
): RegisteredOperation | undefined {
  const route = routes?.find((each) => each.method === method && each.path === path);
  return route === undefined ? operation : route.handler.operation;
}

/** Invokes an authorizer of the API; throws if access is denied. */
async function authorize(
  invoker: Invoker,
  fn: FunctionFile | undefined,
  event: RestApiEvent,
): Promise<AuthorizerContext | undefined> {
  if (fn === undefined) return undefined;
  const title = `authorize ${event.httpMethod} ${event.path}`;
  return await runAuthorizer(async () => {
    const outcome = await invoker.invoke(fn, toAuthorizerEvent(event), { title });
    if (outcome.error instanceof BuildError) throw outcome.error;
    return outcome;
  });
}

function checkResult(fn: FunctionFile, result: unknown): ProxyResult {
  const { statusCode } = (result ?? {}) as Partial<ProxyResult>;
  if (typeof statusCode === "number") {
    return { ...(result as ProxyResult), body: String((result as ProxyResult).body ?? "") };
  }
  throw new TypeError(`${fn.name} returned no statusCode: API Gateway would respond with 502`);
}

/** Returns the status with which a client is admitted or refused. */
function getStatus(result: unknown): number {
  const { statusCode } = (result ?? {}) as { statusCode?: unknown };
  return typeof statusCode === "number" ? statusCode : 200;
}

/** Returns the ids of the messages that a function reported as failed. */
export function getFailures(result: unknown): string[] {
  const { batchItemFailures } = (result ?? {}) as {
    batchItemFailures?: { itemIdentifier: unknown }[];
  };
  return Array.isArray(batchItemFailures)
    ? batchItemFailures.map(({ itemIdentifier: id }) =>
      // Kafka's are objects
      typeof id === "string" ? id : JSON.stringify(id)
    )
    : [];
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
