import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import process from "node:process";
import { readBody } from "../http/http_server.ts";
import type { NewObject } from "./bucket_store.ts";
import { getMetadata } from "./metadata.ts";
import { checkPolicy } from "./post_policy.ts";
import { S3Error } from "./s3_error.ts";

/** A file that a form uploads. */
export interface UploadForm {
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
export async function readUploadForm(
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
