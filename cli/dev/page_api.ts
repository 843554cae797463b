import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProxyResult, RestApiEvent } from "../../core/http/lambda.ts";
import {
  ForbiddenError,
  MethodNotAllowedError,
  NotFoundError,
  UnexpectedError,
  ValidationError,
} from "../../errors/http_errors.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { renderReferencePage } from "../openapi/reference_page.ts";
import { BuildError } from "./build_error.ts";
import { getContentSecurityPolicy, PAGE_POLICY, readAsset } from "./page_assets.ts";
import type { FunctionStore } from "./function_store.ts";
import { readBody } from "./http_server.ts";
import type { Invoker } from "./invoker.ts";
import type { LocalDatabase } from "./local_database.ts";
import type { SentEntry } from "./message_bus.ts";
import type { Call, DevEvent, Recorder } from "./recorder.ts";
import { toSafeOutput } from "./safe_copy.ts";
import { listTables, readRows } from "./table_browser.ts";
import { toTriggerEvent, TRIGGER_FORMS } from "./trigger_event.ts";

/** The data and actions of the page. */
export interface PageSource {
  readonly project: string;
  readonly url: string;
  readonly database: LocalDatabase;
  readonly recorder: Recorder;
  readonly store: FunctionStore;
  readonly invoker: Invoker;
  /** The last sent messages, newest first. */
  readonly sent: readonly SentEntry[];
  /** Returns the names of generated secrets. */
  secrets(): string[];
  /** Builds the current OpenAPI document. */
  document(): Promise<OpenApiDocument>;
  /** Returns the event of a recorded call. */
  getEvent(call: Call): { fn: FunctionFile; event: unknown } | undefined;
  toFailure(error: unknown): ProxyResult;
  track<T>(work: Promise<T>): Promise<T>;
}

/** Handles requests of the page and of programs that use its API. */
export interface PageApi {
  /** Handles the request if it is for the page; returns false otherwise. */
  answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean>;
  /** Closes event streams. */
  close(): void;
}

const BASE = "/_trellis";

/**
 * Creates the page at `/_trellis`.
 * @param source The data to show.
 */
export function createPageApi(source: PageSource): PageApi {
  const { recorder, store, invoker } = source;
  const streams = new Set<ServerResponse>();
  const unlisten = recorder.listen((event) => {
    const text = `data: ${JSON.stringify(toMessage(event))}\n\n`;
    for (const stream of streams) stream.write(text);
  });

  function describeFunction(fn: FunctionFile): Record<string, unknown> {
    const { operation, error } = store.peek(fn);
    const { file: _file, ...rest } = fn;
    return {
      ...rest,
      auth: operation?.auth,
      summary: operation?.openapi.summary,
      error: error?.message,
      form: fn.kind === "api" ? undefined : TRIGGER_FORMS[fn.kind],
    };
  }

  function live(response: ServerResponse): void {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write("retry: 1000\n\n");
    streams.add(response);
    response.on("close", () => streams.delete(response));
  }

  async function invoke(
    name: string,
    request: IncomingMessage,
    params: URLSearchParams,
  ): Promise<unknown> {
    const find = () => store.list().find((each) => each.name === name);
    let fn = find();
    if (fn === undefined && store.scan()) fn = find();
    if (fn === undefined) throw new NotFoundError(`Unknown function ${name}`);
    const event = toTriggerEvent(fn, { body: (await readBody(request)).toString("utf8"), params });
    return await run(fn, event, `${fn.name} (${fn.kind})`);
  }

  async function replay(id: string): Promise<unknown> {
    const call = recorder.calls.find((each) => each.id === id);
    const known = call === undefined ? undefined : source.getEvent(call);
    if (call === undefined || known === undefined) {
      throw new NotFoundError("The call does not exist or is no longer kept");
    }
    // the function may have been replaced in the meantime
    const fn = store.list().find(({ name }) => name === known.fn.name);
    if (fn === undefined) throw new NotFoundError(`The function ${known.fn.name} no longer exists`);
    if (fn.kind !== "api") return await run(fn, known.event, call.title, id);
    const event = known.event as RestApiEvent;
    const { authorizer: _former, ...requestContext } = event.requestContext;
    const result = await source.track(invoker.answer(
      fn,
      { ...event, requestContext: { ...requestContext, requestId: crypto.randomUUID() } },
      { title: call.title, method: call.method, replayOf: id },
      source.toFailure,
    ));
    return { function: fn.name, status: result.statusCode };
  }

  async function run(
    fn: FunctionFile,
    event: unknown,
    title: string,
    replayOf?: string,
  ): Promise<unknown> {
    const { call, result, error, failures, requestId } = await source.track(
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

  async function answerApi(request: IncomingMessage, url: URL): Promise<unknown> {
    const [area, name, action] = url.pathname.slice(`${BASE}/api/`.length).split("/").map(
      decodePart,
    );
    const isPost = request.method === "POST";
    if (!isPost && request.method !== "GET") throw new MethodNotAllowedError(["GET", "POST"]);
    if (isPost) {
      if (area === "functions" && action === "invoke") {
        return await invoke(name, request, url.searchParams);
      }
      if (area === "calls" && action === "replay") return await replay(name);
    } else if (area === "state") {
      store.scan();
      return {
        project: source.project,
        url: source.url,
        database: {
          summary: source.database.summary,
          canBrowse: source.database.config !== undefined,
        },
        secrets: source.secrets(),
        functions: store.list().map(describeFunction),
        calls: recorder.calls.map(getSummary),
        sent: source.sent,
      };
    } else if (area === "calls" && name !== undefined) {
      const call = recorder.calls.find(({ id }) => id === name);
      if (call !== undefined) return call;
    } else if (area === "tables") {
      const { config } = source.database;
      if (config === undefined) {
        throw new NotFoundError(
          "The table browser is not available for the database in the environment",
        );
      }
      return name === undefined
        ? await listTables(config)
        : await readRows(config, name, action ?? "", readOffset(url.searchParams));
    }
    throw new NotFoundError("Page not found");
  }

  return {
    async answer(request, response, url): Promise<boolean> {
      const path = url.pathname;
      const isFree = () => !store.routes().some((route) => route.path === path);
      const isDocument = path === `${BASE}/openapi.json` || (path === "/openapi.json" && isFree());
      const isHome = path === "/" && isFree() &&
        String(request.headers.accept ?? "").includes("text/html");
      if (isHome) {
        response.writeHead(302, { Location: BASE }).end();
        return true;
      }
      if (isDocument) {
        sendJson(response, 200, await source.document());
        return true;
      }
      if (path !== BASE && !path.startsWith(`${BASE}/`)) return false;
      assertSameOrigin(request);
      if (path === `${BASE}/api/live`) live(response);
      else if (path.startsWith(`${BASE}/api/`)) {
        await answerApi(request, url).then(
          (value) => sendJson(response, hasError(value) ? 502 : 200, value),
          (error) => {
            if (error instanceof BuildError) {
              return sendJson(response, 500, {
                code: "BUILD_FAILED",
                message: error.message,
                errors: error.errors,
              });
            }
            // expose the database error: it concerns the user's own query on this page
            const known = error instanceof ValidationError || error instanceof NotFoundError ||
              error instanceof MethodNotAllowedError;
            throw known
              ? error
              : new UnexpectedError((error as Error).message, { cause: error, expose: true });
          },
        );
      } else if (path === `${BASE}/reference`) {
        const html = renderReferencePage(await source.document());
        response.writeHead(200, {
          "Content-Type": "text/html; charset=utf-8",
          "Content-Security-Policy": getContentSecurityPolicy(html),
          "Cache-Control": "no-store",
        }).end(html);
      } else {
        const asset = await readAsset(
          path === BASE || path === `${BASE}/` ? "index.html" : path.slice(BASE.length + 1),
        );
        if (asset === undefined) throw new NotFoundError("Page not found");
        response.writeHead(200, {
          "Content-Type": asset.contentType,
          "Content-Security-Policy": PAGE_POLICY,
          "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
          "Referrer-Policy": "no-referrer",
        }).end(asset.text);
      }
      return true;
    },
    close(): void {
      unlisten();
      for (const stream of streams) stream.end();
    },
  };
}

/** Decodes a path segment; throws ValidationError for malformed escapes. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw new ValidationError("The path contains a malformed escape", { cause });
  }
}

/** Reads the number of rows to skip; throws ValidationError if it is invalid. */
function readOffset(params: URLSearchParams): number {
  const offset = Number(params.get("offset") ?? 0);
  if (Number.isSafeInteger(offset) && offset >= 0) return offset;
  throw new ValidationError("offset must be an integer of at least 0");
}

/**
 * Rejects pages of other origins: other local programs serve pages too, and only our own may use
 * this API.
 */
function assertSameOrigin({ headers, method }: IncomingMessage): void {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  const isVisit = method === "GET" && headers["sec-fetch-mode"] === "navigate";
  const isForeign = (origin !== undefined && origin !== `http://${host}`) ||
    (site !== undefined && site !== "same-origin" && site !== "none" && !isVisit);
  if (isForeign) throw new ForbiddenError("Only pages of the same origin may use this address");
}

function toMessage(event: DevEvent): unknown {
  return event.type === "call" ? { type: "call", call: getSummary(event.call) } : event;
}

/** Returns a call without its details, for lists. */
function getSummary(call: Call): Partial<Call> & { logCount: number } {
  const { logs, spans: _spans, metrics: _metrics, input: _input, output: _output, ...summary } =
    call;
  return { ...summary, logCount: logs.length };
}

function hasError(value: unknown): boolean {
  return typeof value === "object" && value !== null && "error" in value && "callId" in value;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" })
    .end(
      `${JSON.stringify(value, null, 2)}\n`,
    );
}
