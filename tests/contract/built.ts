/**
 * Generated requests to what `trellis build` makes: each is sent as the event of every gateway to the built function and to its
 * source, which must answer alike, and as the document says. The examples booking and accounts are called over HTTP.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findFunctionFiles } from "../../cli/discovery/function_files.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../../core/mod.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import { run } from "../emulator/emulator.ts";
import { sendGeneratedRequests } from "../examples/booking_requests.ts";
import { withEnv } from "../support/with_env.ts";
import { createResponseCheck } from "../support/described_response.ts";
import {
  choose,
  createValueGenerator,
  type DescribedOperation,
  generateBodyText,
  generateParameters,
  listOperations,
  type ValueGenerator,
} from "../support/generated_requests.ts";
import { testSeed } from "../support/seed.ts";
import { getDocument, getFolder, PASSWORD, signUp, TRELLIS, withExample } from "./examples.ts";

const REQUESTS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20_000 : 400;
const GATEWAYS: Readonly<Record<string, (options: EventOptions) => ApiEvent>> = {
  "REST API": createRestApiEvent,
  "HTTP API": createHttpApiEvent,
  "function URL": createFunctionUrlEvent,
  "load balancer": (options) => createAlbEvent(options),
  "load balancer with lists": (options) => createAlbEvent({ ...options, multiValue: true }),
};

type Handler = (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;

/** A request without its gateway. */
interface GeneratedRequest {
  readonly operation: DescribedOperation;
  readonly fits: boolean;
  readonly options: EventOptions;
}

/** Texts of headers that no schema names, which gateways and clients send. */
const OTHER_HEADERS: Readonly<Record<string, readonly string[]>> = {
  "Accept-Encoding": ["gzip", "br;q=1, *;q=0", "identity"],
  Accept: ["*/*", "application/json;q=0.5", "text/html"],
  Origin: ["https://a.example", "null"],
  Range: ["bytes=0-9", "bytes=-5", "bytes=300-", "bytes=0-1,4-5", "lines=1-2"],
  "If-None-Match": ['"a"', "*", 'W/"a"'],
  "X-Correlation-Id": ["c-1", "a b", "x".repeat(300)],
  "X-Forwarded-Proto": ["https", "http"],
  traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0-0-0"],
};

function generateOtherHeaders(): fc.Arbitrary<Record<string, string | undefined>> {
  const texts = Object.entries(OTHER_HEADERS).map(([name, values]) =>
    [name, fc.constantFrom(...values)] as const
  );
  return fc.record(Object.fromEntries(texts), { requiredKeys: [] });
}

/** Generates a body with its media type. */
function generateBody(
  { requestBody }: DescribedOperation["operation"],
  fits: boolean,
  generateValue: ValueGenerator,
): fc.Arbitrary<Pick<EventOptions, "body"> & { readonly type?: string }> {
  if (requestBody === undefined) return fc.constant({});
  const [[type, { schema }]] = Object.entries<{ schema: object }>(requestBody.content);
  if (type === "multipart/form-data") return generateForm(fits);
  return fc.record({
    body: fc.tuple(generateBodyText(generateValue(schema, fits), fits), fc.boolean())
      .map(([text, isBinary]) =>
        isBinary && text !== undefined ? new TextEncoder().encode(text) : text
      ),
    type: choose<string>(
      fits,
      type,
      `${type}; charset=utf-8`,
      `${type};charset=latin1`,
      "text/plain",
      "a/b",
      "application/x-www-form-urlencoded",
    ),
  });
}

function generateForm(fits: boolean): ReturnType<typeof generateBody> {
  const text = fc.string({ maxLength: 20, unit: fc.constantFrom(..."abc é") });
  return fc.record({
    file: choose(fits, true, false),
    note: choose(fits, true, false),
    tags: fc.array(text, { maxLength: 3 }),
    text,
    bytes: fc.uint8Array({ maxLength: 40 }),
    boundary: choose(fits, "b-1", "other"),
  }).map(({ file, note, tags, text, bytes, boundary }) => {
    const part = (name: string, value: string | Uint8Array) => [
      `--b-1\r\nContent-Disposition: form-data; name="${name}"`,
      typeof value === "string" ? "" : `; filename="a.bin"\r\nContent-Type: image/png`,
      "\r\n\r\n",
      value,
      "\r\n",
    ];
    const parts = [
      ...file ? part("file", bytes) : [],
      ...note ? part("note", text) : [],
      ...tags.flatMap((tag) => part("tags", tag)),
      "--b-1--\r\n",
    ].map((each) => typeof each === "string" ? new TextEncoder().encode(each) : each);
    const body = new Uint8Array(parts.flatMap((each) => [...each]));
    return { body, type: `multipart/form-data; boundary=${boundary}` };
  });
}

function generateRequest(
  { path, method, operation }: DescribedOperation,
  fits: boolean,
  generateValue: ValueGenerator,
): fc.Arbitrary<GeneratedRequest> {
  const generate = (place: string) => generateParameters(operation, place, fits, generateValue);
  return fc.record({
    pathParameters: generate("path"),
    query: generate("query"),
    headers: generate("header"),
    cookies: generate("cookie"),
    others: generateOtherHeaders(),
    body: generateBody(operation, fits, generateValue),
  }).map(({ pathParameters, query, headers, cookies, others, body: { type, body } }) => {
    const values = Object.fromEntries(
      Object.entries(pathParameters).map(([name, [value]]) => [name, value]),
    );
    const pairs = Object.entries(cookies).map(([name, [value]]) =>
      `${name}=${encodeURIComponent(value)}`
    );
    return {
      operation: { path, method, operation },
      fits,
      options: {
        method: method.toUpperCase(),
        resource: path,
        path: path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? "x")),
        pathParameters: values,
        query,
        headers: {
          ...headers,
          ...others as Record<string, string>,
          ...pairs.length > 0 && { Cookie: pairs.join("; ") },
          ...type !== undefined && { "Content-Type": type },
        },
        body,
      },
    };
  });
}

/** Returns what differs between gateways by design, in one form. */
function readResult({ statusCode, headers, multiValueHeaders, ...rest }: ProxyResult) {
  const texts = [...Object.entries(headers ?? {}), ...Object.entries(multiValueHeaders ?? {})]
    .map(([name, value]): [string, string] => [name.toLowerCase(), String(value)])
    .filter(([name]) => name !== "x-correlation-id")
    .sort(([one], [other]) => one < other ? -1 : 1);
  const body = rest.body.replace(/"(requestId|correlationId)":"[^"]*"/g, '"$1":""');
  return { status: statusCode, headers: texts, body, isBytes: rest.isBase64Encoded ?? false };
}

/** The built function and the source of each operation of a project. */
async function loadHandlers(
  folder: string,
): Promise<ReadonlyMap<string, readonly [source: Handler, built: Handler]>> {
  await run(Deno.execPath(), [...TRELLIS, "build", "--project", folder]);
  const load = async (path: string): Promise<Handler> =>
    (await import(pathToFileURL(path).href)).handler;
  return new Map(
    await Promise.all(
      findFunctionFiles(join(folder, "src/functions")).map(async ({ name, file, method, path }) => {
        const built = await load(join(folder, "dist", name, "index.mjs"));
        return [`${method} ${path}`, [await load(file), built] as const] as const;
      }),
    ),
  );
}

Deno.test(`built functions answer ${REQUESTS} generated requests of each gateway as their sources do, seed ${testSeed}`, async () => {
  const document = JSON.parse(await Deno.readTextFile(await getDocument("shapes")));
  const explain = createResponseCheck(document);
  const generateValue = createValueGenerator(document, {
    "date-time": fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(2e14) }).map((
      date,
    ) => date.toISOString()),
    date: fc.constantFrom("2026-02-28", "0001-01-01"),
    uuid: fc.uuid(),
    uri: fc.webUrl(),
    text: fc.string({ maxLength: 20 }),
  });
  const requests = fc.sample(
    fc.tuple(fc.constantFrom(...listOperations(document)), fc.boolean())
      .chain(([operation, fits]) => generateRequest(operation, fits, generateValue)),
    { numRuns: REQUESTS, seed: testSeed },
  );
  const seen = new Set<string>();
  // settings are read once
  await withEnv({ LOG_LEVEL: "SILENT", METRICS_DISABLED: "true" }, async () => {
    const handlers = await loadHandlers(getFolder("shapes"));
    for (const { operation: { path, method }, fits, options } of requests) {
      const given = JSON.stringify({
        ...options,
        body: options.body instanceof Uint8Array ? options.body.toBase64() : options.body,
      });
      const texts = await answerByAll(handlers.get(`${options.method} ${path}`)!, options);
      assertEquals(new Set(texts).size, 1, `${texts.join("\n")}\n${given}`);
      const { status, headers, body } = JSON.parse(texts[0]);
      const received = { status, headers: new Headers(headers), body };
      assertEquals(explain(path, method, received), undefined, given);
      // 409 and 416 are answers to requests that fit
      const expected = fits ? status < 300 || status === 409 || status === 416 : status < 500;
      assert(expected, `${texts[0]}\n${given}`);
      seen.add(`${method} ${path} ${status}`);
    }
  });
  const successes = new Set(
    [...seen].filter((each) => / 2\d\d$/.test(each)).map((each) => each.slice(0, -4)),
  );
  assertEquals(successes.size, listOperations(document).length, [...seen].sort().join("\n"));
});

Deno.test({
  name: "built functions of booking answer generated requests as the document says",
  fn: () =>
    withExample("booking", async (url) => {
      await signUp(url, "ada@example.com");
      await sendGeneratedRequests(url);
    }, "build"),
});

/** Sends a request as the event of each gateway to a source and a built function. */
async function answerByAll(handlers: readonly Handler[], options: EventOptions): Promise<string[]> {
  const isRepeated = Object.values(options.query ?? {}).some(({ length }) => length > 1);
  const hasPath = options.resource!.includes("{");
  // a load balancer has no route parameters, and without lists the last value only
  const events = Object.entries(GATEWAYS).filter(([name]) =>
    !name.startsWith("load") || !hasPath && (!isRepeated || name.endsWith("lists"))
  ).map(([, create]) => create);
  const texts: string[] = [];
  for (const create of events) {
    for (const handler of handlers) {
      const result = await handler(create(options), createLambdaContext());
      texts.push(JSON.stringify(readResult(result)));
    }
  }
  return texts;
}

Deno.test(`built functions of accounts answer ${REQUESTS} generated requests as the document says, seed ${testSeed}`, () =>
  withExample("accounts", async (url) => {
    const document = JSON.parse(await Deno.readTextFile(await getDocument("accounts")));
    const explain = createResponseCheck(document);
    const operations = listOperations(document);
    const succeeded = new Set<string>();
    const outside = new Map<string, string>();
    // generated requests end sessions and delete users
    const ROUND = 200;
    for (let from = 0; from < REQUESTS; from += ROUND) {
      const email = `user${from}@example.com`;
      const { token, cookie } = await signUp(url, email);
      const credentials: Record<string, string>[] = [
        { Authorization: `Bearer ${token}` },
        { Cookie: cookie, Origin: url },
        { Cookie: cookie },
        { Cookie: `${cookie.slice(0, -9)}AAAAAA%3D`, Origin: url },
        { Authorization: "Bearer wrong" },
        {},
      ];
      const generateValue = createValueGenerator(document, {
        email: fc.constantFrom(email, "unknown@example.com"),
        uri: fc.constantFrom(url, "https://evil.example"),
        text: fc.constantFrom(email, PASSWORD, url, token, "12345678", "a", "member"),
      });
      const requests = fc.sample(
        fc.tuple(fc.constantFrom(...operations), fc.boolean()).chain(([operation, fits]) =>
          fc.tuple(
            generateRequest(operation, fits, generateValue),
            fc.constantFrom(...credentials.slice(0, fits ? 2 : undefined)),
          )
        ),
        { numRuns: Math.min(ROUND, REQUESTS - from), seed: testSeed + from },
      );
      for (const [{ operation: { path, method }, options }, credential] of requests) {
        const query = new URLSearchParams(
          Object.entries(options.query ?? {}).flatMap(([name, values]) =>
            [values].flat().map((value) => [name, value])
          ),
        );
        const response = await fetch(`${url}${options.path}?${query}`, {
          method: options.method,
          headers: { ...options.headers as Record<string, string>, ...credential },
          body: options.body as string | Uint8Array<ArrayBuffer>,
          redirect: "manual",
        });
        const { status, headers } = response;
        const reason = explain(path, method, { status, headers, body: await response.text() });
        if (reason !== undefined || status >= 500) {
          const request = JSON.stringify({ ...options, credential });
          outside.set(`${method} ${path} ${status}`, `${reason ?? "failed"}\n${request}`);
        }
        if (status < 400) succeeded.add(`${method} ${path}`);
      }
    }
    assertEquals([...outside], []);
    assert(succeeded.size > operations.length / 10, [...succeeded].sort().join("\n"));
  }, "build"));
