/**
 * Files that clients upload directly to a bucket of S3: presigned forms and URLs with size, type and
 * owner, and a handler that verifies each file.
 *
 * @example
 * ```ts
 * import { defineUpload } from "@trellis/fn/uploads";
 *
 * const avatars = defineUpload({ bucket: "files", prefix: "avatars", types: ["image/png"], maxBytes: 5_000_000 });
 * console.log(avatars.getBucket()); // files
 * ```
 *
 * @module
 */
export {
  defineUpload,
  type DownloadRequest,
  type Upload,
  type UploadForm,
  type UploadOptions,
  type UploadRequest,
  type UploadUrl,
} from "./define_upload.ts";
export {
  defineUploadHandler,
  type UploadHandlerFunction,
  type UploadHandlerOptions,
  type UploadHandlerParams,
} from "./upload_handler.ts";
