import type { ProxyResult } from "../../core/http/lambda.ts";
import { escapeHtml } from "../../core/http/escape_html.ts";
import { type BuildError, formatSourceError } from "../sources/build_error.ts";

const STYLE = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem " +
  "auto;max-width:56rem;padding:0 1rem;color-scheme:light dark}" +
  "h1{font-size:1.3rem}pre{overflow-x:auto;padding:.8rem;border:1px solid;border-radius:.4rem}";

/**
 * Renders the response of a function that cannot be built: HTML for browsers, JSON for all other
 * clients.
 *
 * @param accept The `Accept` header of the request.
 */
export function renderBuildFailure(error: BuildError, accept: string): ProxyResult {
  const isPage = accept.includes("text/html");
  return {
    statusCode: 500,
    headers: {
      "Content-Type": isPage ? "text/html; charset=utf-8" : "application/json",
      "Cache-Control": "no-store",
      ...(isPage
        ? { "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'" }
        : {}),
    },
    body: isPage ? renderPage(error) : JSON.stringify({
      message: error.message,
      code: "BUILD_FAILED",
      function: error.functionName,
      errors: error.errors,
    }),
    isBase64Encoded: false,
  };
}

function renderPage({ functionName, errors }: BuildError): string {
  const items = errors.map((error) =>
    `<pre>${escapeHtml(formatSourceError(error))}${
      error.source === undefined ? "" : `\n\n${escapeHtml(error.source)}`
    }</pre>`
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta ` +
    `name="viewport" content="width=device-width">` +
    `<title>${escapeHtml(functionName)} cannot be loaded</title><style>${STYLE}</style>` +
    `<h1>${escapeHtml(functionName)} cannot be loaded</h1>${
      items.join("")
    }<p>Fix the error, then reload this page.</p></html>`;
}
