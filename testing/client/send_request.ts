import { Buffer } from "node:buffer";
import { isAppError } from "../../errors/app_error.ts";
import type { AuthorizerContext, ProxyResult, RestApiEvent } from "../../core/http/lambda.ts";
import { isWithoutBody } from "../../core/http/proxy_result.ts";
import type { ResponseSink } from "../../core/http/streaming.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { createLambdaContext } from "../context.ts";
import { answerRequest } from "../gateway/answer_request.ts";
import {
  GatewayError,
  runAuthorizer,
  selectAuthorizer,
  toAuthorizerEvent,
} from "../gateway/run_authorizer.ts";
import type { TestRequest, TestResponse } from "../test_client.ts";
import type { TestProject } from "./test_project.ts";

/** The address of the API in events and in responses. */
const BASE_URL = "http://localhost";
/** Default timeout of functions in seconds. */
const TIMEOUT_SECONDS = 30;

/**
 * Answers a web request with the function of its route.
 *
 * @param authorizer What the authorizer returns; by default that of the project runs.
 * @throws {ConfigurationError} If no function serves the path and method.
 */
export async function sendRequest(
  project: TestProject,
  request: Request,
  authorizer?: AuthorizerContext,
): Promise<Response> {
  const { method, headers } = request;
  const url = new URL(request.url);
  const sink = createMemorySink();
  try {
    const { result, isStreamed } = await answerRequest(
      {
        method,
        url,
        headers,
        readBody: async () => new Uint8Array(await request.arrayBuffer()),
      },
      {
        match: await project.match(),
        load: (route) => project.loadRoute(route),
        stage: "test",
        createContext: ({ name }, operation) =>
          createLambdaContext({
            functionName: name,
            timeoutMs: Number(operation?.resources.timeout ?? TIMEOUT_SECONDS) * 1000,
          }),
        authorize: async (event) => authorizer ?? await authorize(project, event),
      },
      sink,
    );
    return toResponse(isStreamed ? sink.toResult() : result);
  } catch (error) {
    if (error instanceof GatewayError) return toResponse(error.toResult());
    if (isAppError(error) && (error.statusCode === 404 || error.statusCode === 405)) {
      throw new ConfigurationError(`No function serves ${method} ${url.pathname}`, {
        cause: error,
      });
    }
    throw error;
  }
}

/** Runs the authorizer of the project, if it has one. */
async function authorize(
  project: TestProject,
  event: RestApiEvent,
): Promise<AuthorizerContext | undefined> {
  const fn = selectAuthorizer(project.functions, project.settings.infra?.api?.authorizer);
  if (fn === undefined) return undefined;
  return await runAuthorizer(() => invokeAuthorizer(project, fn.name, toAuthorizerEvent(event)));
}

/** Invokes an authorizer; its error becomes a part of the outcome, because API Gateway reads it. */
export async function invokeAuthorizer(
  project: TestProject,
  name: string,
  event: unknown,
): Promise<{ readonly result?: unknown; readonly error?: unknown }> {
  const fn = project.get(name);
  await project.load(fn);
  return await project.invoke(fn, event).then((result) => ({ result }), (error) => ({ error }));
}

/** Creates a sink that keeps a streamed response. */
function createMemorySink(): ResponseSink & { toResult(): ProxyResult } {
  const chunks: Uint8Array[] = [];
  let head: ProxyResult | undefined;
  return {
    open(opened) {
      head = opened;
      return {
        write: (chunk) => void chunks.push(Buffer.from(chunk)),
        end: () => {},
        on: () => {},
      };
    },
    toResult: () => ({
      ...head!,
      body: Buffer.concat(chunks).toString("base64"),
      isBase64Encoded: true,
    }),
  };
}

function toResponse(result: ProxyResult): Response {
  const { statusCode, body, isBase64Encoded } = result ?? {};
  if (typeof statusCode !== "number") {
    throw new TypeError("The function returned no statusCode: API Gateway would respond with 502");
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(result.headers ?? {})) {
    headers.append(name, String(value));
  }
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {})) {
    for (const value of values) headers.append(name, String(value));
  }
  const bytes = isBase64Encoded ? Buffer.from(body, "base64") : Buffer.from(body ?? "");
  const hasBody = bytes.length > 0 && !isWithoutBody(statusCode);
  return new Response(hasBody ? new Uint8Array(bytes) : null, { status: statusCode, headers });
}

/**
 * Builds the web request of a call.
 *
 * @throws {RangeError} If a path parameter is missing, empty, `.` or `..`.
 */
export function buildRequest(method: string, path: string, options: TestRequest): Request {
  const { as, body, cookies, query = {} } = options;
  const url = new URL(BASE_URL + fillPath(path, options.path));
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) {
      if (each !== undefined && each !== null) url.searchParams.append(name, toText(each));
    }
  }
  const headers = new Headers({ ...as?.headers, ...options.headers });
  if (cookies !== undefined) {
    const pairs = Object.entries(cookies).map(([name, value]) => `${name}=${value}`);
    headers.append("Cookie", pairs.join("; "));
  }
  if (body === undefined) return new Request(url, { method, headers });
  if (isRaw(body)) return new Request(url, { method, headers, body });
  if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
  return new Request(url, { method, headers, body: JSON.stringify(body) });
}

function isRaw(body: unknown): body is BodyInit {
  return typeof body === "string" || body instanceof FormData || body instanceof Blob ||
    body instanceof URLSearchParams || body instanceof Uint8Array;
}

function fillPath(path: string, parameters: TestRequest["path"] = {}): string {
  return path.replace(/\{(\w+)(\+?)\}/g, (_, name, takesRest) => {
    const value = parameters[name];
    const text = value === undefined || value === null ? "" : toText(value);
    if (text === "" || text === "." || text === "..") {
      throw new RangeError(`${path} needs the path parameter ${name}, got ${JSON.stringify(text)}`);
    }
    return takesRest ? encodeURI(text) : encodeURIComponent(text);
  });
}

function toText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** Reads a response to the end. */
export async function readResponse(response: Response): Promise<TestResponse> {
  const { status, headers } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const isJson = /[/+]json\b/.test(headers.get("Content-Type") ?? "");
  const cookies = headers.getSetCookie().map((cookie) => {
    const [pair] = cookie.split(";");
    const at = pair.indexOf("=");
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return {
    status,
    headers,
    cookies: Object.fromEntries(cookies),
    body: text === "" ? undefined : isJson ? JSON.parse(text) : text,
    bytes,
  };
}
