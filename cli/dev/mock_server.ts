import * as z from "zod";
import { getHeader } from "../../core/http/api_event.ts";
import { setTrustedOriginCheck } from "../../core/http/cors.ts";
import type { LambdaContext, ProxyResult } from "../../core/http/lambda.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { AppError } from "../../errors/app_error.ts";
import { ERROR_CODES, type ErrorCode } from "../../errors/error_code.ts";
import { ConfigurationError, ValidationError } from "../../errors/http_errors.ts";
import { answerRequest } from "../../testing/gateway/answer_request.ts";
import { createRouteTable, type LocalRoute } from "../../testing/gateway/route_table.ts";
import { defineApiHandler } from "../../validation/define_api_handler.ts";
import { createMultipartParser } from "../../validation/multipart.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import type { JsonSchema } from "../../validation/openapi/json_schema.ts";
import type { InputOptions } from "../../validation/read_input.ts";
import { sortRoutes } from "../discovery/function_files.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import { createRecorder } from "./functions/recorder.ts";
import {
  createLocalContext,
  createServerSink,
  type Gateway,
  listenOnLoopback,
  sendResult,
  toFailure,
  toGatewayRequest,
} from "./http/http_server.ts";
import type { Terminal } from "./terminal.ts";

/** Options of {@link startMockServer}. */
export interface MockServerOptions {
  readonly document: OpenApiDocument;
  /** Returns the document of changed sources, or `undefined` if they are the same. Called before each request. */
  readonly reload?: () => Promise<OpenApiDocument | undefined>;
  /** The port; 0 picks a free one. */
  readonly port: number;
  /** Called with the raw text of log lines as well. */
  readonly onLogText?: (text: string) => void;
  readonly terminal: Pick<Terminal, "show" | "note" | "warn">;
}

/** A running mock server. */
export interface MockServer extends Gateway {
  /** The number of operations that it answers. */
  readonly operations: number;
}

/** A body with its media type. */
interface MediaType {
  readonly schema?: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>;
}

interface DescribedField extends MediaType {
  readonly required?: boolean;
}

interface DescribedResponse {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, DescribedField>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

/** What a mock reads of an operation. */
interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?:
    readonly (DescribedField & { readonly name: string; readonly in: string })[];
  readonly requestBody?: DescribedResponse & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

/** Makes a value of a schema, always the same one. */
type Sampler = (schema: JsonSchema, options: object, document: object) => unknown;

/**
 * Gives the response of a status, or throws its error.
 *
 * @param example The name or number of the example to send.
 * @throws {ValidationError} If there is no such example.
 */
type Answer = (example?: string) => ProxyResult;

/**
 * Serves an OpenAPI document on the loopback address without any function: each operation validates its request like
 * `defineApiHandler`, and answers with its documented status of success. The value is the example of the document, else
 * a value made from the schema. `Prefer: code=404` asks for another documented status, and `example=2` for the second example
 * of the schema. Credentials are not checked. If a reloaded document cannot be served, the former one still is.
 *
 * Pages of localhost may send cookies and read the responses.
 *
 * @returns The running server.
 * @throws {ConfigurationError} If openapi-sampler is not installed, the port is in use, or the value of a response does not
 * fit its schema.
 */
export async function startMockServer(
  { document, reload, port, onLogText, terminal }: MockServerOptions,
): Promise<MockServer> {
  const loaded = await import("openapi-sampler").catch(
    explainMissing(CLI_PACKAGES, "openapi-sampler", "trellis dev --mock"),
  ) as { default?: { sample: Sampler }; sample: Sampler };
  // the package has a CommonJS form, and a form of modules that bundlers and Bun prefer
  const { sample } = loaded.default ?? loaded;
  const routes = createRoutes(document, sample);
  const recorder = createRecorder(onLogText);
  recorder.listen((event) => terminal.show(event));
  // the server refuses pages of other hosts before
  setTrustedOriginCheck(() => true);
  const api = {
    match: createRouteTable(routes, true),
    load: (route: LocalRoute) => route,
    stage: "mock",
    createContext: ({ name }: LocalRoute): LambdaContext => createLocalContext(name),
  };

  let reloading: Promise<void> | undefined;
  /** Serves the current document. Requests during a change wait for it. */
  function refresh(): Promise<void> {
    return reloading ??= (async () => {
      try {
        const changed = await reload?.();
        if (changed === undefined) return;
        api.match = createRouteTable(createRoutes(changed, sample), true);
        terminal.note("serves the changed document");
      } catch (error) {
        terminal.warn((error as Error).message);
      } finally {
        reloading = undefined;
      }
    })();
  }

  const stopRecording = () => {
    setTrustedOriginCheck(undefined);
    recorder.stop();
  };
  try {
    const server = await listenOnLoopback(async function answer(request, response, url) {
      const { method = "GET" } = request;
      const call = recorder.begin({ kind: "api", title: `${method} ${url.pathname}`, method });
      const result = await recorder.run(
        call,
        () =>
          refresh().then(() =>
            answerRequest(toGatewayRequest(request, url), api, createServerSink(response))
          ).then(({ result }) => result, (error) => toFailure(request, error)),
      );
      recorder.end(call, { status: result.statusCode, isFailed: result.statusCode >= 500 });
      sendResult(response, result);
    }, port);
    return {
      ...server,
      operations: routes.length,
      async stop(): Promise<void> {
        await server.stop();
        stopRecording();
      },
    };
  } catch (error) {
    stopRecording();
    throw error;
  }
}

/** Creates a route for each operation, the most specific first. */
function createRoutes(original: OpenApiDocument, sample: Sampler): LocalRoute[] {
  // where JSON Schema, and so zod, looks for the schemas that others name
  const { paths, components }: OpenApiDocument = JSON.parse(
    JSON.stringify(original).replaceAll('"#/components/schemas/', '"#/$defs/'),
  );
  const $defs = components.schemas;
  const findings: string[] = [];

  function toZod(schema: JsonSchema): z.ZodType {
    return z.fromJSONSchema({ ...schema, $defs } as Parameters<typeof z.fromJSONSchema>[0]);
  }

  function createValue(media: MediaType, enablePatterns = false): unknown {
    const [first] = Object.values(media.examples ?? {});
    return media.example ?? first?.value ??
      sample(media.schema ?? {}, { enablePatterns }, { $defs });
  }

  function createAnswer(status: number, response: DescribedResponse): Answer {
    const { headers = {}, content = {} } = response.$ref === undefined
      ? response
      : components.responses[response.$ref.split("/").at(-1)!] as DescribedResponse;
    const type = "application/json" in content ? "application/json" : Object.keys(content)[0];
    const sent = Object.fromEntries(
      Object.entries(headers).filter(([, { required }]) => required !== false)
        .map(([name, field]) => [name, String(createValue(field))]),
    );
    const examples = listExamples(content[type ?? ""] ?? {});
    const choose = (example?: string): unknown => {
      if (example === undefined) return undefined;
      if (examples.has(example)) return examples.get(example);
      const names = [...examples.keys()].join(", ") || "none";
      throw new ValidationError(
        `The response ${status} has no example ${example}: it has ${names}`,
      );
    };
    if (type === undefined) {
      return (example) => ({
        statusCode: status,
        headers: sent,
        body: String(choose(example) ?? ""),
      });
    }
    const media = content[type];
    const schema = toZod(media.schema ?? {});
    for (const value of examples.values()) checkValue(schema.safeParse(value));
    const hasExample = media.example !== undefined || media.examples !== undefined;
    const code = findErrorCode(status);
    if (code !== undefined && !hasExample && schema.safeParse(toErrorBody(code)).success) {
      return function fail(example) {
        choose(example);
        throw new AppError(code, undefined, { headers: sent });
      };
    }
    // the package makes texts for simple patterns only, and its usual text fits some of the others
    const values = [createValue(media, true), createValue(media)];
    const value = values.find((each) => schema.safeParse(each).success);
    if (value === undefined) checkValue(schema.safeParse(values[0]));
    const isJson = /[/+]json$/.test(type);
    return (example) => {
      const chosen = choose(example) ?? value;
      const body = isJson || typeof chosen !== "string" ? JSON.stringify(chosen) : chosen;
      return { statusCode: status, headers: { ...sent, "Content-Type": type }, body };
    };
  }

  function checkValue({ error }: z.ZodSafeParseResult<unknown>): void {
    if (error === undefined) return;
    throw new Error(`no value fits it: ${z.prettifyError(error).replaceAll(/\s+/g, " ")}`);
  }

  /** Lists the examples of a body by name, and those of its schema by number from 1. */
  function listExamples({ schema = {}, examples = {} }: MediaType): Map<string, unknown> {
    const ofSchema = (resolve(schema).examples ?? []) as readonly unknown[];
    return new Map([
      ...ofSchema.map((value, at) => [`${at + 1}`, value] as const),
      ...Object.entries(examples).map(([name, { value }]) => [name, value] as const),
    ]);
  }

  function resolve(schema: JsonSchema): JsonSchema {
    return typeof schema.$ref === "string" ? $defs[schema.$ref.split("/").at(-1)!] : schema;
  }

  /** Returns the options that read a body. Bodies of other types than JSON and forms are not read. */
  function createBody(
    { content = {}, required }: NonNullable<DescribedOperation["requestBody"]>,
  ): Pick<InputOptions, "schema" | "bodyParser"> {
    const json = content["application/json"]?.schema;
    if (json !== undefined) return { schema: required ? toZod(json) : toZod(json).optional() };
    const bodyParser = createMultipartParser();
    const form = content[bodyParser.mediaType]?.schema;
    if (form === undefined) return {};
    const { properties = {}, required: names = [] } = resolve(form) as {
      properties?: Record<string, JsonSchema>;
      required?: readonly string[];
    };
    const fields = Object.entries(properties).map(([name, schema]) => {
      const { type, items } = resolve(schema) as { type?: string; items?: JsonSchema };
      const isList = type === "array";
      const isFile = resolve(isList ? items ?? {} : schema).format === "binary";
      const file = isList ? z.array(z.file()) : z.file();
      return [name, isFile ? file : toZod(schema), names.includes(name)] as const;
    });
    return { bodyParser, schema: toFields(fields) };
  }

  function createRoute(method: string, path: string, operation: DescribedOperation): LocalRoute {
    const { operationId, parameters = [], requestBody, responses } = operation;
    const place = `${method} ${path}`;
    function attempt<T>(what: string, create: () => T): T | undefined {
      try {
        return create();
      } catch (error) {
        findings.push(`${place}, ${what}: ${(error as Error).message}`);
      }
    }
    const readFields = (where: string): z.ZodType | undefined => {
      const fields = parameters.filter((parameter) => parameter.in === where);
      if (fields.length === 0) return undefined;
      return toFields(fields.map(({ name, required, schema = {} }) => [
        where === "header" ? name.toLowerCase() : name,
        attempt(`parameter ${name}`, () => toZod(schema)) ?? z.unknown(),
        required === true,
      ]));
    };
    const body = attempt("request body", () => requestBody && createBody(requestBody));
    const answers = new Map(
      Object.entries(responses).map(([status, response]) => [
        Number(status),
        attempt(`response ${status}`, () => createAnswer(Number(status), response)),
      ]),
    );
    const statuses = [...answers.keys()].sort((a, b) => a - b);
    const usual = statuses.find((status) => status >= 200 && status < 300) ?? statuses[0];
    const handler = defineApiHandler({
      operationName: operationId,
      metrics: false,
      tracing: false,
      pathSchema: readFields("path"),
      querySchema: readFields("query"),
      headers: readFields("header"),
      cookies: readFields("cookie"),
      ...body,
    })(function answer({ event }): ProxyResult {
      const prefer = getHeader(event, "Prefer") ?? "";
      const preferred = /\bcode=(\d{3})\b/.exec(prefer)?.[1];
      const chosen = answers.get(Number(preferred ?? usual));
      if (chosen !== undefined) return chosen(/\bexample="?([^\s",;]+)/.exec(prefer)?.[1]);
      throw new ValidationError(
        `${place} has no response ${preferred}: choose one of ${statuses.join(", ")}`,
      );
    });
    return { method, path, name: operationId, handler };
  }

  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) =>
      createRoute(method.toUpperCase(), path, operation as DescribedOperation)
    )
  );
  if (findings.length > 0) {
    throw new ConfigurationError(
      `The document cannot be served:\n  ${findings.join("\n  ")}\n` +
        "Add examples that fit to the schema: .meta({ examples: [value] })",
    );
  }
  return sortRoutes(routes);
}

/** Creates the schema of values that arrive as texts: `"5"` fits a number, `"true"` a boolean. */
function toFields(
  fields: readonly (readonly [name: string, schema: z.ZodType, isRequired: boolean])[],
): z.ZodType {
  return z.object(Object.fromEntries(fields.map(([name, schema, isRequired]) => {
    const field = z.preprocess(
      (value) => schema.safeParse(value).success ? value : readText(value),
      schema,
    );
    return [name, isRequired ? field : field.optional()];
  })));
}

function readText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readText);
  const isLiteral = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/i;
  try {
    return typeof value === "string" && isLiteral.test(value) ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

function findErrorCode(status: number): ErrorCode | undefined {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  return codes.find((code) => ERROR_CODES[code].status === status);
}

/** Returns a body like those that handlers send for errors. */
function toErrorBody(code: ErrorCode): object {
  return { message: ERROR_CODES[code].title, code, requestId: "", correlationId: "" };
}
