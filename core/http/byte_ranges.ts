import { ConfigurationError } from "../../errors/http_errors.ts";
import { getHeader, getMethod } from "./api_event.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import type { ApiEvent, ProxyResult } from "./lambda.ts";
import { nameIn } from "./proxy_result.ts";

/** Some of the bytes of a file, from 0. Both ends are included. */
export interface ByteRange {
  /** The first byte. */
  readonly first: number;
  /** The last byte. */
  readonly last: number;
}

/** A response that can be sent in part. */
export interface RangedResult extends ProxyResult {
  /** The length of the whole body; unknown if it is not set. */
  readonly sizeBytes?: number;
  /** Creates the response with some of the bytes. */
  withRange(statusCode: number, headers: ProxyResult["headers"], range: ByteRange): ProxyResult;
}

type Run<TParams> = (params: TParams) => Promise<ProxyResult>;

/** One range; `bytes=0-9,20-29` has several, which a server may ignore (RFC 9110, section 14.2). */
const SINGLE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * Adds range requests to a handler (RFC 9110, section 14). A response of GET with status 200 whose body is bytes announces
 * `Accept-Ranges`, and is answered with 206 and the range that the client asks for, or with 416 if it begins after the end.
 * Requests with several ranges, and those with an `If-Range` that does not match, get the whole body.
 *
 * @param run Runs the handler.
 * @param isEnabled The handler's option.
 * @returns Runs the handler and selects the range.
 */
export function withRanges<TParams extends { event: ApiEvent }>(
  run: Run<TParams>,
  isEnabled: boolean | undefined,
): Run<TParams> {
  if (!isEnabled) return run;
  return async function runForRange(params) {
    const result = await run(params);
    const method = getMethod(params.event);
    if (result?.statusCode !== 200 || !/^(?:GET|HEAD)$/.test(method)) return result;
    const ranged = toRanged(result);
    if (ranged === undefined) return result;
    const { sizeBytes } = ranged;
    if (sizeBytes === undefined) {
      throw new ConfigurationError("ranges: true needs the option sizeBytes of streamResponse");
    }
    const headers = { ...result.headers, "Accept-Ranges": "bytes" };
    const whole = { first: 0, last: sizeBytes - 1 };
    const range = method === "GET" ? selectRange(params.event, headers, sizeBytes) : undefined;
    if (range === undefined) return ranged.withRange(200, headers, whole);
    if (range === "unsatisfiable") {
      const sent = { "Accept-Ranges": "bytes", "Content-Range": `bytes */${sizeBytes}` };
      return { statusCode: 416, headers: sent, body: "" };
    }
    const length = nameIn(headers, "Content-Length");
    const sent: Record<string, string | number | boolean> = {
      ...headers,
      "Content-Range": `bytes ${range.first}-${range.last}/${sizeBytes}`,
    };
    if (length !== undefined) delete sent[length];
    return ranged.withRange(206, sent, range);
  };
}

/** Returns a response whose bytes are known or can be opened at any place. Texts have neither. */
function toRanged(result: ProxyResult): RangedResult | undefined {
  if ("withRange" in result) return result as RangedResult;
  if (!result.isBase64Encoded) return undefined;
  const bytes = decodeBase64(result.body);
  return {
    ...result,
    sizeBytes: bytes.length,
    withRange: (statusCode, headers, { first, last }) => ({
      ...result,
      statusCode,
      headers,
      body: statusCode === 200 ? result.body : encodeBase64(bytes.subarray(first, last + 1)),
    }),
  };
}

/** Returns the range of a request, or `undefined` for the whole body: an invalid header is ignored. */
function selectRange(
  event: ApiEvent,
  headers: NonNullable<ProxyResult["headers"]>,
  sizeBytes: number,
): ByteRange | "unsatisfiable" | undefined {
  const [isRange, first, last, suffix] =
    SINGLE_RANGE.exec(getHeader(event, "Range", "range") ?? "") ?? [];
  const isInvalid = first !== undefined && last !== "" && Number(last) < Number(first);
  if (isRange === undefined || isInvalid || !isUnchanged(event, headers)) return undefined;
  // clients that limit what they load ask for a range of an empty file too
  if (sizeBytes === 0) return undefined;
  const start = suffix === undefined ? Number(first) : Math.max(0, sizeBytes - Number(suffix));
  if (start >= sizeBytes) return "unsatisfiable";
  const end = last ? Math.min(Number(last), sizeBytes - 1) : sizeBytes - 1;
  return { first: start, last: end };
}

/** Compares `If-Range` with the version that is sent: strongly for tags, exactly for dates (RFC 9110, section 13.1.5). */
function isUnchanged(event: ApiEvent, headers: NonNullable<ProxyResult["headers"]>): boolean {
  const condition = getHeader(event, "If-Range", "if-range");
  if (condition === undefined) return true;
  const isTag = condition.endsWith('"');
  const version = headers[nameIn(headers, isTag ? "ETag" : "Last-Modified") ?? ""];
  return version === condition && !condition.startsWith("W/");
}
