import type { LambdaContext } from "../core/http/lambda.ts";
import { checkOptions, OBJECT_OPTION, oneOf } from "../core/option_rules.ts";
import {
  defineStorageHandler,
  type StorageEvent,
  type StorageHandlerParams,
} from "../core/triggers/storage.ts";
import {
  type AsyncTriggerOptions,
  checkHandler,
  type TriggerHandler,
} from "../core/triggers/trigger_options.ts";
import type { WrapperMetadata } from "../core/with_observability.ts";
import { limitRequest } from "../env/limit_request.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { logInfo, logWarn } from "../observability/logger.ts";
import type { Upload } from "./define_upload.ts";
import { connectS3, S3_LIMIT } from "./s3.ts";
import { parseUploadKey } from "./upload_key.ts";
import { record } from "../env/recording.ts";
import type { S3Client } from "@aws-sdk/client-s3";

/** Options of {@link defineUploadHandler}. */
export interface UploadHandlerOptions extends AsyncTriggerOptions {
  /** The uploads whose files the bucket sends. */
  upload: Upload;
  /**
   * What happens to a file that breaks the rules. It is logged in any case.
   * @default "delete"
   */
  onRejected?: "delete" | "keep";
}

/** Parameters of the handler of an uploaded file. */
export interface UploadHandlerParams {
  /** Name of the bucket. */
  bucket: string;
  /** Key of the file. */
  key: string;
  /** The user who may upload it, as given to `createForm` or `createUrl`. */
  owner: string;
  /** Id of the upload: the last part of the key. */
  id: string;
  /** Size in bytes. */
  size: number;
  /** The media type. */
  contentType: string;
  /** The file's entity tag: the same in each delivery. */
  eTag: string;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids of this invocation. */
  metadata: WrapperMetadata;
}

/** The function that a user writes: called once for each verified file. What it returns is not used. */
export type UploadHandlerFunction = (params: UploadHandlerParams) => unknown;

/** The facts of a file in the bucket. */
interface StoredFile {
  readonly size: number;
  readonly contentType: string;
  readonly owner: string | undefined;
  readonly eTag: string;
  readonly head: Uint8Array;
}

/**
 * Declares what happens to files of an upload. Before the function is called, the file in the bucket
 * is compared with the rules of {@link defineUpload}: its size, its type, also by its first bytes for
 * common types, and its owner by key and metadata. A file that breaks a rule is logged and deleted.
 * The role needs `s3:GetObject` and `s3:DeleteObject`.
 *
 * @param options The upload, what happens to other files, and the options of `defineStorageHandler`.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { defineUpload, defineUploadHandler } from "@trellis/fn/uploads";
 *
 * export const avatars = defineUpload({ bucket: "files", prefix: "avatars", types: ["image/png"], maxBytes: 5_000_000 });
 *
 * // src/functions/storage/avatars.ts
 * export const handler = defineUploadHandler({ upload: avatars })(async function saveAvatar({ owner, key }) {
 *   await Promise.resolve([owner, key]);
 * });
 * ```
 */
export function defineUploadHandler(
  options: UploadHandlerOptions,
): (
  handler: UploadHandlerFunction,
) => TriggerHandler<StorageEvent, void, UploadHandlerFunction> {
  const { upload, onRejected = "delete", ...trigger } = options ?? {};
  if (!OBJECT_OPTION[0](upload) || typeof upload.createForm !== "function") {
    throw new ConfigurationError("defineUploadHandler needs upload: the result of defineUpload()");
  }
  checkOptions("defineUploadHandler", { onRejected }, { onRejected: oneOf(["delete", "keep"]) });
  const defineHandler = defineStorageHandler(trigger);

  return function wrapHandler(handler) {
    checkHandler("defineUploadHandler", handler);

    async function handle({ bucket, key, change, eTag, context, metadata }: StorageHandlerParams) {
      if (change !== "created") return;
      const parsed = parseUploadKey(upload.options.prefix, key);
      if (parsed === undefined) {
        throw new ConfigurationError(
          `${key} is no key of the upload ${upload.options.prefix}: set prefix of this function's ` +
            `trigger to ${upload.options.prefix}/, and write no other files there`,
        );
      }
      const { sdk, client } = await connectS3();
      const file = await readFile(sdk, client, { bucket, key, eTag });
      if (file === undefined) {
        logInfo("uploaded file was replaced or deleted since the event", { bucket, key });
        return;
      }
      const reason = findViolation(upload, parsed.owner, file);
      if (reason !== undefined) {
        logWarn("uploaded file rejected", { bucket, key, owner: parsed.owner, reason });
        if (onRejected === "keep") return;
        const command = new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key });
        await limitRequest(S3_LIMIT, (abortSignal) => client.send(command, { abortSignal }));
        return;
      }
      const { size, contentType } = file;
      await handler({
        bucket,
        key,
        ...parsed,
        size,
        contentType,
        eTag: file.eTag,
        context,
        metadata,
      });
    }

    // the user's function names the operation
    Object.defineProperty(handle, "name", { value: handler.name });
    return record(
      "defineUploadHandler",
      [options, handler],
      Object.assign(defineHandler(handle), { handler }),
    );
  };
}

/** Returns the first rule that a file breaks. */
function findViolation(
  { options: { types, maxBytes } }: Upload,
  owner: string,
  file: StoredFile,
): string | undefined {
  if (file.size < 1 || file.size > maxBytes) {
    return `its size is ${file.size}, from 1 to ${maxBytes} bytes are accepted`;
  }
  if (!types.includes(file.contentType)) return "its type is not accepted";
  if (file.owner !== owner) return "its owner is not that of its key";
  return hasSignature(file.contentType, file.head)
    ? undefined
    : `its content is not ${file.contentType}`;
}

/** Reads the properties of the event's file; `undefined` if it has been deleted. */
async function readFile(
  sdk: typeof import("@aws-sdk/client-s3"),
  client: S3Client,
  { bucket, key, eTag }: { bucket: string; key: string; eTag: string | undefined },
): Promise<StoredFile | undefined> {
  const place = { Bucket: bucket, Key: key, IfMatch: eTag && `"${eTag}"` };
  try {
    const range = `bytes=0-${SIGNATURE_BYTES - 1}`;
    const command = new sdk.GetObjectCommand({ ...place, Range: range });
    const { result, head } = await limitRequest(S3_LIMIT, async (abortSignal) => {
      const result = await client.send(command, { abortSignal });
      return { result, head: await result.Body!.transformToByteArray() };
    });
    return {
      size: Number(result.ContentRange?.split("/").at(-1) ?? head.length),
      contentType: (result.ContentType ?? "").split(";", 1)[0].trim().toLowerCase(),
      owner: result.Metadata?.owner,
      eTag: (result.ETag ?? "").replaceAll('"', ""),
      head,
    };
  } catch (error) {
    switch ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode) {
      case 404:
      case 412:
        return undefined;
      case 416:
        return { size: 0, contentType: "", owner: undefined, eTag: "", head: new Uint8Array() };
      default:
        throw error;
    }
  }
}

/** Bytes at the beginning of a file, at an offset. */
type Signature = readonly (readonly [offset: number, bytes: string])[];

/**
 * Signatures of media types, as Latin-1 text. Source: MIME Sniffing Standard, WHATWG, sections 6.1 and 6.2;
 * ISO 32000-2, 7.5.2 (2026-11).
 */
const SIGNATURES: Readonly<Record<string, readonly Signature[]>> = {
  "application/gzip": [[[0, "\x1f\x8b\x08"]]],
  "application/pdf": [[[0, "%PDF-"]]],
  "application/zip": [[[0, "PK\x03\x04"]], [[0, "PK\x05\x06"]]],
  "image/gif": [[[0, "GIF87a"]], [[0, "GIF89a"]]],
  "image/jpeg": [[[0, "\xff\xd8\xff"]]],
  "image/png": [[[0, "\x89PNG\r\n\x1a\n"]]],
  "image/webp": [[[0, "RIFF"], [8, "WEBPVP"]]],
};

/** Bytes that {@link hasSignature} looks at. */
const SIGNATURE_BYTES = 16;

/**
 * Checks whether a file begins as its media type says.
 *
 * @param type The media type.
 * @param head The first {@link SIGNATURE_BYTES} bytes, fewer in a smaller file.
 * @returns True if it does, or if nothing is known of the type.
 */
function hasSignature(type: string, head: Uint8Array): boolean {
  const signatures = Object.hasOwn(SIGNATURES, type) ? SIGNATURES[type] : undefined;
  if (signatures === undefined) return true;
  const text = String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));
  return signatures.some((parts) => parts.every(([at, bytes]) => text.startsWith(bytes, at)));
}
