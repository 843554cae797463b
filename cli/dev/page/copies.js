import { el } from "./dom.js";

/** Headers that a client adds itself. */
const OWN_HEADERS = new Set([
  "accept-encoding",
  "accept-language",
  "connection",
  "content-length",
  "cookie",
  "host",
  "origin",
  "priority",
  "referer",
  "user-agent",
]);

/** Creates the buttons that copy a request. Redacted values are placeholders in the copy. */
export function renderCopies(call, base, status) {
  const forms = { curl: toCurl, test: toTest, "client call": toClientCall };
  return Object.entries(forms).map(([name, render]) =>
    el("button", {
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(render(call, base));
          status.textContent = `Copied as ${name}.`;
        } catch (error) {
          status.textContent = error.message;
        }
      },
    }, `Copy as ${name}`)
  );
}

/** Renders the command line of curl. */
export function toCurl({ input }, base) {
  const { method, body } = input;
  const parts = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quote(base + getTarget(input))}`,
  ];
  for (const [name, value] of listHeaders(input)) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`-d ${quote(getText(body))}`);
  return parts.join(" \\\n  ");
}

/** Renders a test that calls the handler with the event of the request. */
export function toTest({ functionName, file, status, input }) {
  const { method, path, query, pathParameters, body } = input;
  const options = {
    method,
    path,
    ...query && { query },
    ...pathParameters && { pathParameters },
    headers: Object.fromEntries(listHeaders(input)),
    ...body !== undefined && { body },
  };
  return `import assert from "node:assert/strict";
import test from "node:test";
import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
import { handler } from ${JSON.stringify(`../${file ?? `src/functions/${functionName}.ts`}`)};

test(${JSON.stringify(`${method} ${path} answers ${status}`)}, async () => {
  const event = createRestApiEvent(${indent(JSON.stringify(options, null, 2))});
  const response = await handler(event, createLambdaContext());
  assert.equal(response.statusCode, ${status});
});
`;
}

/** Renders the call of a client of `trellis generate client`. */
export function toClientCall({ route, input }) {
  const { method, path, query, pathParameters, body } = input;
  const params = {
    ...pathParameters && { path: pathParameters },
    ...query && { query },
  };
  const options = {
    ...Object.keys(params).length > 0 && { params },
    ...body !== undefined && { body },
  };
  const rest = Object.keys(options).length === 0 ? "" : `, ${JSON.stringify(options, null, 2)}`;
  return `const { data, error } = await client.${method}(${
    JSON.stringify(route ?? path)
  }${rest});\n`;
}

function getTarget({ path, query }) {
  const search = new URLSearchParams(
    Object.entries(query ?? {}).flatMap(([name, value]) =>
      [value].flat().map((each) => [name, each])
    ),
  );
  return search.size === 0 ? path : `${path}?${search}`;
}

function listHeaders({ headers }) {
  return Object.entries(headers ?? {}).filter(([name]) =>
    !OWN_HEADERS.has(name.toLowerCase()) && !name.toLowerCase().startsWith("sec-")
  );
}

function getText(body) {
  return typeof body === "string" ? body : JSON.stringify(body);
}

function indent(text) {
  return text.replaceAll("\n", "\n  ");
}

/** Quotes a word for a POSIX shell. */
export function quote(text) {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
