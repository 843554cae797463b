import {
  createQuerySerializer,
  defaultPathSerializer,
  type QuerySerializerOptions,
} from "openapi-fetch";

/** The parts of a call's options that become its URL. */
interface UrlOptions {
  readonly params?: {
    readonly path?: Record<string, unknown>;
    readonly header?: Record<string, unknown>;
    readonly cookie?: Record<string, unknown>;
  };
  readonly querySerializer?: QuerySerializer | QuerySerializerOptions;
}

type QuerySerializer = (query: Record<string, unknown>) => string;

/** Calls the routes of one method, like a method of openapi-fetch. */
export type UnsafeCall = (
  path: string,
  options?: object,
) => Promise<{ readonly response: Response }>;

/**
 * Wraps a method of openapi-fetch, which neither checks values of path parameters nor encodes names of query parameters. A
 * URL parser removes the segments `.` and `..`, so that such a value calls another route. It does not send cookie parameters
 * either, and its results have no status of their own.
 *
 * @param call The method.
 * @returns The method. It rejects with a `RangeError` if a path parameter is missing, empty, `.` or `..`.
 */
export function withSafeUrl(call: UnsafeCall): UnsafeCall {
  return async function callSafely(path, options) {
    const { params, querySerializer }: UrlOptions = options ?? {};
    checkPath(path, params?.path ?? {});
    const result = await call(path, {
      ...options,
      ...params?.cookie && { params: withCookieHeader(params) },
      querySerializer: withEncodedNames(querySerializer),
    });
    return { ...result, status: result.response.status };
  };
}

/** Adds the header `Cookie`. Browsers ignore it, and send the cookies that they have themselves. */
function withCookieHeader(params: NonNullable<UrlOptions["params"]>): object {
  const cookies = Object.entries(params.cookie ?? {}).filter(([, value]) => value !== undefined);
  const header = cookies.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return header.length === 0
    ? params
    : { ...params, header: { ...params.header, Cookie: header.join("; ") } };
}

function checkPath(path: string, values: Record<string, unknown>): void {
  for (const segment of path.split("/")) {
    if (!segment.includes("{")) continue;
    const sent = defaultPathSerializer(segment, values);
    const isMissing = sent.includes("{");
    if (!isMissing && sent !== "" && sent !== "." && sent !== "..") continue;
    const given = isMissing ? "missing" : JSON.stringify(sent);
    throw new RangeError(
      `The path parameter ${segment} of ${path} is ${given}, which would call another route`,
    );
  }
}

function withEncodedNames(serializer: UrlOptions["querySerializer"]): QuerySerializer {
  if (typeof serializer === "function") return serializer;
  const serialize = createQuerySerializer(serializer);
  return (query) =>
    serialize(encodeNames(query, (value) => isRecord(value) ? encodeNames(value) : value));
}

function encodeNames(
  values: Record<string, unknown>,
  change = (value: unknown): unknown => value,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [encodeURIComponent(name), change(value)]),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
