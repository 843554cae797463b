import type { IncomingMessage, ServerResponse } from "node:http";
import { isAppError } from "../../errors/app_error.ts";
import { NotFoundError } from "../../errors/http_errors.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import {
  findSwaggerUi,
  getTryItPolicy,
  type PageFile,
  readTryItFile,
  renderTryItPage,
} from "../openapi/try_it_page.ts";

/** Path of the API reference. */
export const REFERENCE_PATH = "/_trellis/reference";

const PURPOSE = "The API reference";

/**
 * Serves the API reference of the local page: Swagger UI, whose requests go to this server with the
 * session of the browser. If swagger-ui-dist is not installed, a text says so.
 *
 * @param name The path below the page: `""` for the page itself.
 * @param readDocument Builds the document.
 */
export async function sendReference(
  response: ServerResponse,
  name: string,
  readDocument: () => Promise<OpenApiDocument>,
): Promise<void> {
  if (name === "") return await sendPage(response);
  const file = name === "openapi.json"
    ? toLocalFile(await readDocument())
    : await readTryItFile(name, PURPOSE);
  if (file === undefined) throw new NotFoundError("Page not found");
  send(response, file, getTryItPolicy());
}

async function sendPage(response: ServerResponse): Promise<void> {
  try {
    await findSwaggerUi(PURPOSE);
  } catch (error) {
    if (!isAppError(error)) throw error;
    const content = `${error.message}\n\nThe document: ${REFERENCE_PATH}/openapi.json\n`;
    return send(response, { contentType: "text/plain; charset=utf-8", content }, getTryItPolicy());
  }
  const content = renderTryItPage({
    title: "API reference",
    base: `${REFERENCE_PATH}/`,
    documentUrl: `${REFERENCE_PATH}/openapi.json`,
    keepsCredentials: true,
  });
  const page = { contentType: "text/html; charset=utf-8", content };
  send(response, page, `${getTryItPolicy()}; frame-ancestors 'self'`);
}

/** Returns the document with this server in place of the configured ones. */
function toLocalFile(document: OpenApiDocument): PageFile {
  const local = { ...document, servers: [{ url: "/", description: "trellis dev" }] };
  return { contentType: "application/json", content: JSON.stringify(local) };
}

function send(response: ServerResponse, { contentType, content }: PageFile, policy: string): void {
  response.writeHead(200, {
    "Content-Type": contentType,
    "Content-Security-Policy": policy,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  }).end(content);
}

/**
 * Sets the origin of a request that a page of this server sends to the origin of the auth configuration, so that sign-up and
 * session cookies are accepted on any port, and for `localhost` as for `127.0.0.1`. Pages of other origins cannot send this
 * `Origin` or `Referer`.
 *
 * @param request The request; its raw headers are changed.
 * @param findOrigin Returns the origin of the auth configuration.
 */
export async function adoptOrigin(
  { headers, rawHeaders }: IncomingMessage,
  findOrigin: () => Promise<string | undefined>,
): Promise<void> {
  const own = `http://${headers.host}`;
  const page = headers.origin ?? headers.referer;
  if (page !== own && !page?.startsWith(`${own}/`)) return;
  const origin = await findOrigin();
  if (origin === undefined) return;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i].toLowerCase();
    if (name === "origin" || name === "referer") rawHeaders[i + 1] = origin;
  }
}
