import {
  ConfigurationError,
  PreconditionFailedError,
  UnexpectedError,
} from "../../errors/http_errors.ts";
import { getHeader, getMethod } from "./api_event.ts";
import { encodeBase64Url } from "./base64.ts";
import type { ApiEvent, ProxyResult } from "./lambda.ts";
import { encodePercent } from "./percent_encoding.ts";
import { nameIn } from "./proxy_result.ts";

/** The version of a resource: anything that changes with each change of it. */
export type ResourceVersion = string | number | bigint | Date;

/** Option `etag` of a handler. */
export type EtagOption<TParams = never> =
  | true
  | ((
    params: TParams,
  ) => ResourceVersion | undefined | Promise<ResourceVersion | undefined>);

type Run<TParams> = (params: TParams) => Promise<ProxyResult>;

/** What compression adds to a tag. No version contains a plus sign, which is percent-encoded. */
const ENCODING = /\+(?:br|gzip)"$/;

/** Marks the representation of a tag: each encoding of a body has its own tag (RFC 9110, section 8.8.3.3). */
export function addToTag(tag: string, encoding: string): string {
  return tag.endsWith('"') ? `${tag.slice(0, -1)}+${encoding}"` : tag;
}

/**
 * Adds conditional requests to a handler (RFC 9110, section 13). Responses of GET and HEAD get an `ETag`, and are answered
 * with 304 if the client has them. With a version, other requests are refused with 412 if `If-Match` names another one.
 *
 * @param run Runs the handler.
 * @param etag The handler's option.
 * @returns Runs the handler if the conditions are met.
 */
export function withConditions<TParams extends { event: ApiEvent }>(
  run: Run<TParams>,
  etag: EtagOption<TParams> | undefined,
): Run<TParams> {
  if (etag === undefined) return run;
  return async function runIfMatching(params) {
    const { event } = params;
    const isRead = /^(?:GET|HEAD)$/.test(getMethod(event));
    const ifMatch = getHeader(event, "If-Match", "if-match");
    const ifNoneMatch = getHeader(event, "If-None-Match", "if-none-match");
    if (etag === true && !isRead && (ifMatch ?? ifNoneMatch) !== undefined) {
      throw new ConfigurationError(
        `etag: true cannot check the condition of a ${
          getMethod(event)
        } request: set a function that returns the version`,
      );
    }

    /** Returns the tag of the response that the client has, with its encoding. */
    function check(tag: string | undefined): string | undefined {
      if (ifMatch !== undefined && !findListed(ifMatch, tag)) throw new PreconditionFailedError();
      const known = ifNoneMatch === undefined ? undefined : findListed(ifNoneMatch, tag, true);
      if (known !== undefined && !isRead) throw new PreconditionFailedError();
      return known;
    }

    const version = etag === true ? undefined : await etag(params);
    const tag = version === undefined ? undefined : toTag(version);
    const known = etag === true ? undefined : check(tag);
    if (known !== undefined) return toNotModified({ ETag: known });
    const result = await run(params);
    if (!isRead || result.statusCode !== 200) return result;
    const own = nameIn(result.headers ?? {}, "ETag");
    const sent = own === undefined ? tag ?? await hashBody(result) : String(result.headers![own]);
    const same = etag === true ? check(sent) : undefined;
    const headers = { ...result.headers, [own ?? "ETag"]: same ?? sent };
    return same === undefined ? { ...result, headers } : toNotModified(headers);
  };
}

/**
 * Returns the tag of a version.
 *
 * @throws {UnexpectedError} If the version is none, such as an invalid date: every change would have the same tag.
 */
function toTag(version: ResourceVersion): string {
  const value = version instanceof Date ? version.getTime() : version;
  if (typeof value !== "string" && typeof value !== "bigint" && !Number.isFinite(value)) {
    throw new UnexpectedError(
      "etag must return a text, a number, a bigint or a valid date, or undefined for a resource that does not exist",
    );
  }
  return `"${encodePercent(String(value))}"`;
}

async function hashBody({ body }: ProxyResult): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body ?? ""));
  return `"${encodeBase64Url(new Uint8Array(digest, 0, 16))}"`;
}

/**
 * Finds a tag in a list, in which it can name an encoding; `*` is any version of a resource that exists. A weak comparison
 * ignores the prefix `W/`.
 */
function findListed(list: string, tag: string | undefined, isWeak = false): string | undefined {
  if (tag === undefined || list.trim() === "*") return tag;
  const strip = (each: string) => isWeak ? each.replace(/^W\//, "") : each;
  const compared = strip(tag);
  if (compared.startsWith("W/")) return undefined;
  const listed = (list.match(/(?:W\/)?"[^"]*"/g) ?? []).map(strip)
    .find((each) => each === compared || each.replace(ENCODING, '"') === compared);
  return listed?.replace(compared, tag);
}

/** Headers of a body, which a 304 does not have. */
const OF_BODY = /^content-(?:type|length|encoding|disposition)$/i;

function toNotModified(headers: NonNullable<ProxyResult["headers"]>): ProxyResult {
  const kept = Object.entries(headers).filter(([name]) => !OF_BODY.test(name));
  return { statusCode: 304, headers: Object.fromEntries(kept), body: "" };
}
