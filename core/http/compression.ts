import { builtinModule } from "../../env/builtin_module.ts";
import { getWeight } from "./accept.ts";
import { getHeader, getSource } from "./api_event.ts";
import { encodeBase64 } from "./base64.ts";
import { addToTag } from "./entity_tag.ts";
import type { ApiEvent, ProxyResult } from "./lambda.ts";
import { addToVary, nameIn } from "./proxy_result.ts";

/** A smaller body fits one network packet. */
const MIN_BYTES = 1024;

/** Media types of texts. Images, archives and videos are compressed already. */
const COMPRESSIBLE =
  /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)|application\/(?:javascript|x-ndjson)|image\/svg)/i;

/**
 * Compresses a text body of at least 1 KB with br or gzip, as `Accept-Encoding` says. Bodies in base64, other media types,
 * and those with `Content-Encoding` or `Cache-Control: no-transform` are sent unchanged. REST APIs decode base64 for
 * configured media types only and compress themselves, so their responses are sent unchanged too.
 *
 * @param event The request.
 * @param result The response.
 * @returns The compressed response, or the same without `node:zlib`.
 */
export function compressResult(event: ApiEvent, result: ProxyResult): ProxyResult {
  const { body, headers = {}, isBase64Encoded } = result;
  const read = (name: string) => String(headers[nameIn(headers, name) ?? ""] ?? "");
  const isCompressible = getSource(event) !== "rest" && !isBase64Encoded &&
    // a 304 has the Vary of the response that it stands for (RFC 9110, section 15.4.5)
    (result.statusCode === 304 || !!body && COMPRESSIBLE.test(read("Content-Type"))) &&
    read("Content-Encoding") === "" && !/\bno-transform\b/i.test(read("Cache-Control"));
  if (!isCompressible) return result;
  const vary = nameIn(headers, "Vary") ?? "Vary";
  const varied = {
    ...headers,
    [vary]: headers[vary] === undefined
      ? "Accept-Encoding"
      : addToVary(String(headers[vary]), "Accept-Encoding"),
  };
  const encoding = chooseEncoding(getHeader(event, "Accept-Encoding", "accept-encoding"));
  const zlib = encoding && builtinModule("node:zlib");
  const bytes = zlib && new TextEncoder().encode(body);
  if (bytes === undefined || bytes.length < MIN_BYTES) return { ...result, headers: varied };
  const { BROTLI_PARAM_QUALITY } = zlib!.constants;
  const compressed = encoding === "br"
    ? zlib!.brotliCompressSync(bytes, { params: { [BROTLI_PARAM_QUALITY]: 4 } })
    : zlib!.gzipSync(bytes);
  const { ...sent }: Record<string, string | number | boolean> = varied;
  for (const name of ["Content-Length", "ETag"]) {
    const own = nameIn(sent, name);
    if (own === undefined) continue;
    if (name === "ETag") sent[own] = addToTag(String(sent[own]), encoding!);
    else delete sent[own];
  }
  return {
    ...result,
    headers: { ...sent, "Content-Encoding": encoding! },
    body: encodeBase64(compressed),
    isBase64Encoded: true,
  };
}

function chooseEncoding(header: string | undefined): "br" | "gzip" | undefined {
  if (header === undefined) return undefined;
  const others = getWeight(header, "*") ?? 0;
  const [br, gzip] = ["br", "gzip"].map((name) => getWeight(header, name) ?? others);
  if (br === 0 && gzip === 0) return undefined;
  return br >= gzip ? "br" : "gzip";
}
