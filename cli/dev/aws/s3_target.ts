import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import process from "node:process";
import { type LocalHandler, readBody } from "../http/http_server.ts";
import { assertNoPage, type SentMessage } from "./aws_sink.ts";
import type { BucketStore, NewObject, StoredObject } from "./bucket_store.ts";
import { checkPolicy, checkPresignedUrl, S3Error } from "./s3_checks.ts";

/** The path of the endpoint for clients of S3, without virtual hosts. */
export const S3_PATH = "/_trellis/s3";

/** The largest file in bytes. It is held in memory. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** What happened to an object: the body of the message that functions in `storage/` get. */
export interface ObjectChange {
  readonly key: string;
  readonly change: "created" | "deleted";
  readonly size?: number;
  readonly eTag?: string;
}

interface ObjectRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly store: BucketStore;
  readonly bucket: string;
  readonly key: string;
  /** Header that a presigned URL sets for browsers: `attachment`. */
  readonly disposition: string | null;
}

/**
 * Creates the local stand-in for S3: PutObject, GetObject, HeadObject and DeleteObject of the official
 * client, presigned URLs, and presigned forms with their policies. Pages of this machine may use
 * presigned requests only.
 *
 * @param onSent Called with each change of an object.
 */
export function createS3Target(
  buckets: BucketStore,
  onSent: (sent: SentMessage) => void,
): LocalHandler {
  const store = reportChanges(buckets, onSent);
  return async function answerS3(request, response, url): Promise<void> {
    allowOrigin(request, response);
    if (request.method === "OPTIONS") {
      response.writeHead(204).end();
      return;
    }
    try {
      await answer(store, request, response, url);
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
      response.writeHead(error.status, { "Content-Type": "application/xml" }).end(error.toXml());
    }
  };
}

/** Returns the buckets, with a message for each change of an object. */
function reportChanges(
  store: BucketStore,
  onSent: (sent: SentMessage) => void,
): BucketStore {
  function report(bucket: string, change: ObjectChange): void {
    onSent({
      id: crypto.randomUUID(),
      service: "s3",
      target: bucket,
      at: new Date().toISOString(),
      body: JSON.stringify(change),
      attributes: {},
    });
  }

  return {
    get: store.get,
    put(bucket, key, file): StoredObject {
      const stored = store.put(bucket, key, file);
      report(bucket, { key, size: file.bytes.length, eTag: stored.eTag, change: "created" });
      return stored;
    },
    delete(bucket, key): void {
      store.delete(bucket, key);
      report(bucket, { key, change: "deleted" });
    },
  };
}

async function answer(
  store: BucketStore,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const [bucket, ...parts] = url.pathname.slice(S3_PATH.length + 1).split("/")
    .map(decodeURIComponent);
  const disposition = url.searchParams.get("response-content-disposition");
  const target = { request, response, store, bucket, key: parts.join("/"), disposition };
  if (!/^[a-z0-9][a-z0-9.-]*$/.test(bucket)) {
    throw new S3Error(400, "InvalidBucketName", "The name of the bucket is invalid");
  }
  if (request.method === "POST" && target.key === "") return await postForm(target);
  authorize(request, url);
  switch (request.method) {
    case "PUT":
      return await putObject(target);
    case "GET":
    case "HEAD":
      return getObject(target);
    case "DELETE":
      return deleteObject(target);
    default:
      throw new S3Error(
        501,
        "NotImplemented",
        "trellis dev supports presigned forms and URLs, PutObject, GetObject, HeadObject and " +
          `DeleteObject, not ${request.method} ${url.pathname}`,
      );
  }
}

async function postForm({ request, response, store, bucket }: ObjectRequest): Promise<void> {
  const { key, file } = await readUploadForm(request, bucket, MAX_FILE_BYTES);
  const { eTag } = store.put(bucket, key, file);
  response.writeHead(204, { ETag: `"${eTag}"` }).end();
}

async function putObject(target: ObjectRequest): Promise<void> {
  const { request, response, store, bucket, key } = target;
  const { headers } = request;
  if (headers["if-none-match"] === "*" && store.get(bucket, key) !== undefined) {
    throw new S3Error(412, "PreconditionFailed", "There is an object with this key");
  }
  const { eTag } = store.put(bucket, key, {
    bytes: await readBody(request, MAX_FILE_BYTES),
    contentType: headers["content-type"] ?? "binary/octet-stream",
    metadata: getMetadata(Object.entries(headers)),
  });
  response.writeHead(200, { ETag: `"${eTag}"` }).end();
}

function getObject(target: ObjectRequest): void {
  const { request, response, store, bucket, key, disposition } = target;
  const { method, headers } = request;
  const file = store.get(bucket, key);
  if (file === undefined) throw new S3Error(404, "NoSuchKey", "The key does not exist");
  const wanted = headers["if-match"]?.replaceAll('"', "");
  if (wanted !== undefined && wanted !== file.eTag) {
    throw new S3Error(412, "PreconditionFailed", "The object is another one");
  }
  const { size, bytes, status } = cutRange(file.bytes, headers.range);
  response.writeHead(status, {
    "Content-Type": file.contentType,
    "Content-Length": bytes.length,
    "Last-Modified": new Date(file.modifiedAt).toUTCString(),
    ETag: `"${file.eTag}"`,
    ...(status === 206 && { "Content-Range": `bytes 0-${bytes.length - 1}/${size}` }),
    ...(disposition !== null && { "Content-Disposition": disposition }),
    ...toMetadataHeaders(file.metadata),
  }).end(method === "HEAD" ? undefined : bytes);
}

function deleteObject({ response, store, bucket, key }: ObjectRequest): void {
  if (store.get(bucket, key) !== undefined) store.delete(bucket, key);
  response.writeHead(204).end();
}

/** Admits presigned requests, and clients of AWS that run in functions. */
function authorize(request: IncomingMessage, url: URL): void {
  if (url.searchParams.has("X-Amz-Signature")) {
    checkPresignedUrl(request, url.searchParams, process.env.AWS_SECRET_ACCESS_KEY);
    return;
  }
  assertNoPage(request);
  if (request.headers.authorization === undefined) {
    throw new S3Error(403, "AccessDenied", "The request is not signed");
  }
}

/** Allows pages of this machine, which the server has checked, to read the responses. */
function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.origin === undefined) return;
  response.setHeader("Access-Control-Allow-Origin", headers.origin);
  response.setHeader("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT");
  response.setHeader("Access-Control-Expose-Headers", "ETag");
  const asked = headers["access-control-request-headers"];
  if (asked !== undefined) response.setHeader("Access-Control-Allow-Headers", asked);
}

/** Returns the bytes of a range that begins at 0; other ranges are answered with the whole file. */
function cutRange(
  bytes: Buffer,
  range: string | undefined,
): { readonly size: number; readonly bytes: Buffer; readonly status: 200 | 206 } {
  const end = range?.startsWith("bytes=0-") ? Number(range.slice("bytes=0-".length)) : NaN;
  if (!Number.isInteger(end)) return { size: bytes.length, bytes, status: 200 };
  if (bytes.length === 0) throw new S3Error(416, "InvalidRange", "The file is empty");
  return { size: bytes.length, bytes: bytes.subarray(0, end + 1), status: 206 };
}

/** A file that a form uploads. */
interface UploadForm {
  readonly key: string;
  readonly file: NewObject;
}

/**
 * Reads a presigned form and checks it by its policy.
 *
 * @param bucket The bucket that it is sent to.
 * @param maxBytes The limit of the request.
 * @throws {S3Error} If S3 would refuse the form.
 */
async function readUploadForm(
  request: IncomingMessage,
  bucket: string,
  maxBytes: number,
): Promise<UploadForm> {
  const fields = new Map<string, string>();
  let file: Blob | undefined;
  for (const [name, value] of await parseForm(request, maxBytes)) {
    if (typeof value === "string") fields.set(name.toLowerCase(), value);
    else if (name === "file") file = value;
  }
  if (file === undefined) {
    const message = "POST requires exactly one file upload per request.";
    throw new S3Error(400, "InvalidArgument", message);
  }
  checkPolicy({ bucket, fields, size: file.size }, process.env.AWS_SECRET_ACCESS_KEY);
  return {
    key: fields.get("key") ?? "",
    file: {
      bytes: Buffer.from(await file.arrayBuffer()),
      contentType: fields.get("content-type") ?? "binary/octet-stream",
      metadata: getMetadata([...fields]),
    },
  };
}

async function parseForm(request: IncomingMessage, maxBytes: number): Promise<FormData> {
  const headers = { "Content-Type": request.headers["content-type"] ?? "" };
  const body = new Uint8Array(await readBody(request, maxBytes));
  return await new Response(body, { headers }).formData().catch(() => {
    throw new S3Error(400, "MalformedPOSTRequest", "The body is no multipart/form-data");
  });
}

const METADATA_PREFIX = "x-amz-meta-";

/**
 * Returns the user-defined metadata among the headers of a request, or the fields of a form.
 *
 * @param entries Names in lower case, with their values.
 */
function getMetadata(
  entries: readonly (readonly [string, string | string[] | undefined])[],
): Record<string, string> {
  const own = entries.filter(([name]) => name.startsWith(METADATA_PREFIX));
  return Object.fromEntries(
    own.map(([name, value]) => [name.slice(METADATA_PREFIX.length), `${value}`]),
  );
}

/** Converts user-defined metadata to headers. */
function toMetadataHeaders(
  metadata: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(metadata);
  return Object.fromEntries(entries.map(([name, value]) => [`${METADATA_PREFIX}${name}`, value]));
}
