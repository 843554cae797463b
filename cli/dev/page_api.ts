import type { IncomingMessage, ServerResponse } from "node:http";
import type { DatabaseConfig } from "../../database/config/config.ts";
import {
  ForbiddenError,
  MethodNotAllowedError,
  NotFoundError,
  UnexpectedError,
  ValidationError,
} from "../../errors/http_errors.ts";
import { parseJson } from "../../core/http/parse_json.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import { describeLogError } from "../../testing/describe_log_error.ts";
import { toProjectPath } from "../files/generated_files.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { LocalAccounts } from "./accounts.ts";
import { BuildError } from "../sources/build_error.ts";
import { MAIL_POLICY, PAGE_POLICY, readAsset } from "./page_assets.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import { readBody } from "./http/http_server.ts";
import type { SentEntry } from "./message_bus.ts";
import type { LocalServices } from "./local_services.ts";
import { createPageActions, type PageActions } from "./page_actions.ts";
import { changePageJob, listPageJobs, readPageJob } from "./page_jobs.ts";
import { changePageWorkflow, listPageWorkflows, readPageWorkflow } from "./page_workflows.ts";
import { REFERENCE_PATH, sendReference } from "./reference.ts";
import type { Call, DevEvent, LogLine, Recorder, SentMail } from "./functions/recorder.ts";
import type { RecordedStatement } from "./functions/statement_recorder.ts";
import {
  changeRow,
  explainStatement,
  listTables,
  readRows,
  type RowChange,
} from "./table_browser.ts";
import { TRIGGER_FORMS } from "./trigger_event.ts";

/** The data and actions of the page. */
export interface PageSource extends LocalServices {
  /** The last sent messages, newest first. */
  readonly sent: readonly SentEntry[];
  /** The last mails, newest first. */
  readonly mails: readonly SentMail[];
  /** Omitted for the database in the environment. */
  readonly accounts?: LocalAccounts;
}

/**
 * Builds the document that `trellis generate openapi` would write. Reads the sources and loads no
 * function but the configuration of better-auth.
 */
async function buildLocalDocument({ options, project }: PageSource): Promise<OpenApiDocument> {
  const { buildProjectDocument } = await import("../openapi/project_document.ts");
  const { root, config } = options;
  return (await buildProjectDocument(root, project.store.list(), config)).document;
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
 *
 * @param source The data to show.
 */
export function createPageApi(source: PageSource): PageApi {
  const { recorder, store } = source.project;
  const actions = createPageActions(source);
  const events = createEventStream(recorder);

  async function answerApi(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<void> {
    const [area, name, action] = url.pathname.slice(`${BASE}/api/`.length).split("/")
      .map(decodePart);
    if (area === "live" && name === undefined) return events.connect(response);
    const { method } = request;
    if (method !== "GET" && method !== "POST") throw new MethodNotAllowedError(["GET", "POST"]);
    try {
      if (method === "POST" && area === "accounts" && action === "sign-in") {
        const { cookie, ...rest } = await requireAccounts(source).signIn(name ?? "");
        response.setHeader("Set-Cookie", cookie);
        return sendJson(response, 200, rest);
      }
      const value = method === "POST"
        ? await act(source, actions, [area, name, action], request, url.searchParams)
        : await read(source, [area, name, action], url.searchParams);
      sendJson(response, hasError(value) ? 502 : 200, value);
    } catch (error) {
      if (!(error instanceof BuildError)) throw toExposedError(error);
      const { message, errors } = error;
      sendJson(response, 500, { code: "BUILD_FAILED", message, errors });
    }
  }

  return {
    async answer(request, response, url): Promise<boolean> {
      const path = url.pathname;
      const isFree = () => !store.routes().some((route) => route.path === path);
      if (path === "/" && isFree() && acceptsHtml(request)) {
        response.writeHead(302, { Location: BASE }).end();
      } else if (path === `${BASE}/openapi.json` || (path === "/openapi.json" && isFree())) {
        sendJson(response, 200, await buildLocalDocument(source));
      } else if (path === BASE || path.startsWith(`${BASE}/`)) {
        assertSameOrigin(request);
        if (path.startsWith(MAIL_PAGE)) sendMail(response, source, path.slice(MAIL_PAGE.length));
        else if (path.startsWith(`${BASE}/api/`)) await answerApi(request, response, url);
        else if (path === REFERENCE_PATH || path.startsWith(`${REFERENCE_PATH}/`)) {
          const name = path.slice(REFERENCE_PATH.length + 1);
          await sendReference(response, name, () => buildLocalDocument(source));
        } else await sendAsset(response, path.slice(BASE.length + 1) || "index.html");
      } else return false;
      return true;
    },
    close: () => events.close(),
  };
}

type ApiPath = readonly [area: string, name: string | undefined, action: string | undefined];

async function act(
  source: PageSource,
  actions: PageActions,
  [area, name = "", action]: ApiPath,
  request: IncomingMessage,
  params: URLSearchParams,
): Promise<unknown> {
  const { project, migrations } = source;
  if (area === "functions" && action === "invoke") {
    const body = (await readBody(request)).toString("utf8");
    return await actions.invoke(name, { body, params });
  }
  if (area === "migrations" && name === "apply") {
    await migrations.confirm();
    return { held: migrations.held() ?? null };
  }
  if (area === "calls" && action === "replay") return await actions.replay(name);
  if (area === "calls" && action === "explain") {
    const { text } = findStatement(source, name, Number(params.get("statement")));
    return { plan: await explainStatement(requireDatabase(source), text) };
  }
  if (area === "tables" && action !== undefined) {
    const change = await readChange(request);
    return await changeRow(requireDatabase(source), name, action, change);
  }
  if (area === "jobs" && action !== undefined) {
    return await changePageJob(requireDatabase(source), project.recorder.calls, name, action);
  }
  if (area === "workflows" && action !== undefined) {
    const config = requireDatabase(source);
    return await changePageWorkflow(config, name, action, () => readJson(request));
  }
  throw new NotFoundError("Page not found");
}

async function read(
  source: PageSource,
  [area, name, action]: ApiPath,
  params: URLSearchParams,
): Promise<unknown> {
  const { calls } = source.project.recorder;
  if (area === "state") return await describeState(source);
  if (area === "calls" && name !== undefined) {
    const call = calls.find(({ id }) => id === name);
    if (call !== undefined) {
      return { ...call, ...describeTarget(source, call), logs: describeErrors(source, call.logs) };
    }
  }
  if (area === "accounts") {
    const accounts = requireAccounts(source);
    return name === undefined ? await accounts.list(readOffset(params)) : await accounts.read(name);
  }
  if (area === "jobs") {
    const config = requireDatabase(source);
    if (name === undefined) return await listPageJobs(config, calls, params);
    const job = await readPageJob(config, calls, name);
    return { ...job, logs: describeErrors(source, job.logs) };
  }
  if (area === "workflows") {
    const config = requireDatabase(source);
    return name === undefined
      ? await listPageWorkflows(config, params)
      : await readPageWorkflow(config, name);
  }
  if (area !== "tables") throw new NotFoundError("Page not found");
  const config = requireDatabase(source);
  return name === undefined
    ? await listTables(config)
    : await readRows(config, name, action ?? "", readOffset(params));
}

async function describeState(
  { project, server, sent, mails, migrations }: PageSource,
): Promise<Record<string, unknown>> {
  const { name, environment, database, recorder, store } = project;
  await store.scan();
  return {
    project: name,
    url: server.url,
    database: { summary: database.summary, canBrowse: database.config !== undefined },
    held: migrations.held() ?? null,
    secrets: environment.generated(),
    functions: store.list().flatMap((fn) => listRoutes(store, fn)).map((fn) =>
      describeFunction(store, fn)
    ),
    calls: recorder.calls.map(getSummary),
    sent,
    mails,
  };
}

/** Adds the descriptions of errors, as in the terminal. */
function describeErrors({ options: { root } }: PageSource, logs: readonly LogLine[]): LogLine[] {
  return logs.map((line) =>
    line.error === undefined
      ? line
      : { ...line, described: describeLogError(line, (path) => toProjectPath(root, path)) }
  );
}

/** Returns the route and the file of a call's function, for copies of its request. */
function describeTarget(
  { invoker, options: { root } }: PageSource,
  call: Call,
): { readonly route?: unknown; readonly file?: string } {
  const invoked = invoker.getEvent(call);
  if (invoked === undefined) return {};
  const { resource } = Object(invoked.event) as { readonly resource?: unknown };
  return { route: resource, file: toProjectPath(root, invoked.fn.file) };
}

function findStatement({ project }: PageSource, id: string, index: number): RecordedStatement {
  const statement = project.recorder.calls.find((call) => call.id === id)?.statements[index];
  if (statement !== undefined) return statement;
  throw new NotFoundError("The statement does not exist or is no longer kept");
}

/** Reads the JSON of a request; `undefined` if it is none. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const parsed = parseJson((await readBody(request)).toString("utf8"));
  return "value" in parsed ? parsed.value : undefined;
}

/** Reads the change of a row; throws ValidationError if it is invalid. */
async function readChange(request: IncomingMessage): Promise<RowChange> {
  const { key, column, value } = Object(await readJson(request));
  const isKey = typeof key === "object" && key !== null &&
    Object.values(key).every((part) => typeof part === "string");
  if (isKey && typeof column === "string" && (value === null || typeof value === "string")) {
    return { key, column, value };
  }
  throw new ValidationError("A change needs key, column and value");
}

function requireDatabase({ project: { database: { config } } }: PageSource): DatabaseConfig {
  if (config !== undefined) return config;
  throw new NotFoundError(
    "The table browser, jobs and workflows are not available for the database in the environment",
  );
}

function requireAccounts({ accounts }: PageSource): LocalAccounts {
  if (accounts !== undefined) return accounts;
  throw new NotFoundError("Accounts are not available for the database in the environment");
}

/** Returns the routes of a router, else the function. */
function listRoutes(store: FunctionStore, fn: FunctionFile): readonly FunctionFile[] {
  return fn.isRouter ? store.routes().filter(({ file }) => file === fn.file) : [fn];
}

function describeFunction(store: FunctionStore, fn: FunctionFile): Record<string, unknown> {
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

/** Exposes database errors, because they concern the user's own query on this page. */
function toExposedError(error: unknown): unknown {
  const isExposed = error instanceof ValidationError || error instanceof NotFoundError ||
    error instanceof MethodNotAllowedError;
  return isExposed
    ? error
    : new UnexpectedError((error as Error).message, { cause: error, expose: true });
}

function acceptsHtml({ headers }: IncomingMessage): boolean {
  return String(headers.accept ?? "").includes("text/html");
}

/** The pages with the HTML of mails. */
const MAIL_PAGE = `${BASE}/mails/`;

/** Sends the HTML of a mail. It runs no script, and loads nothing but images within it. */
function sendMail(response: ServerResponse, { mails }: PageSource, id: string): void {
  const html = mails.find((mail) => mail.id === id)?.html;
  if (html === undefined) throw new NotFoundError("The mail does not exist or has no HTML");
  response.writeHead(200, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": MAIL_POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
  }).end(html);
}

async function sendAsset(response: ServerResponse, name: string): Promise<void> {
  const asset = await readAsset(name);
  if (asset === undefined) throw new NotFoundError("Page not found");
  response.writeHead(200, {
    "Content-Type": asset.contentType,
    "Content-Security-Policy": PAGE_POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
  }).end(asset.text);
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

function hasError(value: unknown): boolean {
  return typeof value === "object" && value !== null && "error" in value && "callId" in value;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" })
    .end(
      `${JSON.stringify(value, null, 2)}\n`,
    );
}

/** Sends recorded events to open pages as server-sent events. */
interface EventStream {
  /** Keeps a response open and sends all further events to it. */
  connect(response: ServerResponse): void;
  /** Ends all open responses. */
  close(): void;
}

/** Creates the stream of a recorder's events. */
function createEventStream(recorder: Recorder): EventStream {
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
function getSummary(call: Call): Partial<Call> {
  const { logs: _logs, spans: _spans, statements: _statements, metrics: _metrics, ...rest } = call;
  const { input: _input, output: _output, ...summary } = rest;
  return summary;
}
