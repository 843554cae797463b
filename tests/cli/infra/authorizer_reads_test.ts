import { assertEquals } from "@std/assert";
import { type Fixture, readInfraFacts, shareInfraFacts } from "../fixtures/analyse.ts";

/** The identity sources that `fn.ts` reads, and the lines after which that cannot be told. */
async function findReads(
  files: Fixture,
  read: typeof readInfraFacts = readInfraFacts,
): Promise<{ reads: string[]; unresolved: readonly string[] }> {
  const { inputs } = await read(files);
  const { reads, unresolved } = inputs!;
  return { reads: [...new Set(reads.map(({ source }) => source))].sort(), unresolved };
}

const IMPORT =
  `import { getHeader } from "@trellis/fn/core"; import { defineAuthorizerHandler } from "@trellis/fn/triggers";`;
const authorizer = (fn: string) =>
  `${IMPORT}\nexport const handler = defineAuthorizerHandler({})(${fn});`;
const header = (name: string) => `method.request.header.${name}`;
const query = (name: string) => `method.request.querystring.${name}`;

const CASES: [what: string, files: Fixture | string, reads: string[], unresolved?: string[]][] = [
  ["nothing", "() => ({ userStatus: 'Anonymous' })", []],
  ["the token", "({ token }) => check(token)", [header("authorization")]],
  ["the token of the whole request", "(request) => check(request.token)", [
    header("authorization"),
  ]],
  ["a header by name", `({ headers }) => check(headers["X-Api-Key"], headers.origin)`, [
    header("origin"),
    header("x-api-key"),
  ]],
  ["headers taken apart", `({ headers: { "x-a": a, "x-b": b = "", cookie } }) => [a, b, cookie]`, [
    header("cookie"),
    header("x-a"),
    header("x-b"),
  ]],
  [
    "headers taken apart later",
    `({ headers: all }) => { const { host } = all; const again = all!; return again?.["x-a"]; }`,
    [
      header("host"),
      header("x-a"),
    ],
  ],
  ["a name that is a constant", {
    "names.ts": `export const KEY = "x-tenant";`,
    "fn.ts": `import { KEY } from "./names.ts";\n${authorizer("({ headers }) => headers[KEY]")}`,
  }, [header("x-tenant")]],
  ["a query parameter", `({ query }) => query.access_token ?? query["Sig"]`, [
    query("Sig"),
    query("access_token"),
  ]],
  ["path and method", `({ path, method }) => path + method`, [
    "context.httpMethod",
    "context.path",
  ]],
  [
    "the event",
    `({ event }) => [event.headers["x-a"], event.queryStringParameters?.b, event.authorizationToken, event.type]`,
    [
      header("authorization"),
      header("x-a"),
      query("b"),
    ],
  ],
  ["the event by getHeader()", `({ event }) => getHeader(event, "X-Forwarded-For")`, [
    header("x-forwarded-for"),
  ]],
  [
    "whether something is there",
    `({ headers, query }) => headers && "x-a" in headers && query !== undefined && !query`,
    [
      header("x-a"),
    ],
  ],
  ["a function of another file", {
    "authorize.ts": `import { readKey } from "./key.ts";
      export async function authorize(request) { return readKey("x", request.headers); }`,
    "key.ts": `export const readKey = (kind, headers) => kind + headers["x-key"];`,
    "fn.ts": `import { authorize } from "./authorize.ts";\n${authorizer("authorize")}`,
  }, [header("x-key")]],
  [
    "a function that calls itself",
    `function authorize(request) { return request.token ?? authorize(request); }`,
    [
      header("authorization"),
    ],
  ],
  ["the rest", `({ token, ...rest }) => rest.query.a`, [header("authorization"), query("a")]],
  [
    "what has the names of something else",
    `({ token }) => { const headers = {}; return headers["x-a"] + { token: 1 }.token; }`,
    [
      header("authorization"),
    ],
  ],
  ["what is not of the request", `({ metadata, context }) => [metadata.requestId, context]`, []],
  ["a name that is computed", `({ headers }) => headers[process.env.NAME]`, [], ["fn.ts:2"]],
  ["all headers", `({ headers }) => Object.values(headers)`, [], ["fn.ts:2"]],
  ["headers that are handed on", `({ headers }) => ({ headers })`, [], ["fn.ts:2"]],
  ["headers that are spread", `({ headers }) => check({ ...headers })`, [], ["fn.ts:2"]],
  ["headers that are the rest", `({ headers: { ...all } }) => all["x-a"]`, [header("x-a")]],
  ["headers that are assigned", `({ headers }) => { let all; all = headers; return all; }`, [], [
    "fn.ts:2",
  ]],
  ["the event's context", `({ event }) => event.requestContext.identity.sourceIp`, [], ["fn.ts:2"]],
  [
    "the request in another package",
    {
      "fn.ts": `import { use } from "some-package"; ${authorizer("(request) => use(request)")}`,
    },
    [],
    ["fn.ts:2"],
  ],
  [
    "all arguments of a function",
    {
      "fn.ts": authorizer("(request) => check(request)") +
        "\nfunction check(...all) { return all[0].token; }",
    },
    [],
    ["fn.ts:2"],
  ],
];

const FIXTURES = CASES.map(([, files]) =>
  typeof files === "string" ? { "fn.ts": authorizer(files) } : files
);
const readCase = shareInfraFacts(FIXTURES);
for (const [at, [what, , reads, unresolved = []]] of CASES.entries()) {
  Deno.test(`findAuthorizerReads() finds ${what}`, async () => {
    assertEquals(await findReads(FIXTURES[at], readCase), { reads, unresolved });
  });
}

Deno.test("findAuthorizerReads() cannot tell what a handler reads that is not the package's", async () => {
  const files = { "fn.ts": "export async function handler(event) { return event.headers; }" };
  assertEquals((await findReads(files)).unresolved.length, 1);
});
