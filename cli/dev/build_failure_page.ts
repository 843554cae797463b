import type { ProxyResult } from "../../core/http/lambda.ts";
import { type BuildError, describeFault } from "./build_error.ts";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:56rem;padding:0 1rem;color-scheme:light dark}" +
  "h1{font-size:1.3rem}pre{overflow-x:auto;padding:.8rem;border:1px solid;border-radius:.4rem}";

/**
 * What a function answers while its sources cannot be built: a page to a browser, JSON to all others.
 *
 * @param error What is wrong.
 * @param accept The request's header `Accept`.
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
      errors: error.faults,
    }),
    isBase64Encoded: false,
  };
}

function renderPage({ functionName, faults }: BuildError): string {
  const items = faults.map((fault) =>
    `<pre>${escape(describeFault(fault))}${
      fault.source === undefined ? "" : `\n\n${escape(fault.source)}`
    }</pre>`
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${escape(functionName)} cannot be loaded</title><style>${STYLE}</style>` +
    `<h1>${escape(functionName)} cannot be loaded</h1>${
      items.join("")
    }<p>Mend it and load this page again.</p></html>`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
