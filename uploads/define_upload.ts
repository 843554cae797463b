import { wholeNumber } from "../core/function_options.ts";
import { checkOption, checkOptions, type OptionRule, someText } from "../core/option_rules.ts";
import { limitRequest } from "../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";
import { ValidationError } from "../errors/http_errors.ts";
import { connectS3, S3_LIMIT } from "./s3.ts";
import { formatUploadKey, isOwner, parseUploadKey } from "./upload_key.ts";
import { record } from "../env/recording.ts";

/** Options of {@link defineUpload}. */
export interface UploadOptions {
  /** Name of the bucket, or a function that returns it, such as `() => getRequiredEnv("FILES_BUCKET")`. */
  bucket: string | (() => string);
  /** Beginning of all keys, without a slash at its end: `avatars`. The keys are `avatars/<owner>/<id>`. */
  prefix: string;
  /** Media types that are accepted: `["image/png", "image/jpeg"]`. */
  types: readonly string[];
  /** Size of the largest file in bytes, up to 5 GB. */
  maxBytes: number;
  /**
   * Seconds within which the upload must begin, and a download URL works, 1 to 604,800.
   * @default 300
   */
  expiresInSeconds?: number;
}

/** What is known of a file before it is uploaded. */
export interface UploadRequest {
  /** Id of the user who may upload it: letters, digits, dots, hyphens and underscores, at most 128. */
  owner: string;
  /** The media type: one of the upload's `types`. */
  contentType: string;
}

/** A form for one file: send `fields`, and then the file in the field `file`. */
export interface UploadForm {
  /** Where the form is sent, by POST as `multipart/form-data`. */
  url: string;
  /** The form's other fields. */
  fields: Record<string, string>;
  /** Key of the file in the bucket. */
  key: string;
}

/** A request that uploads one file as its body. */
export interface UploadUrl {
  /** Where the file is sent. */
  url: string;
  /** The method. */
  method: "PUT";
  /** Headers that the request must have. A browser sets `Content-Length` itself. */
  headers: Record<string, string>;
  /** Key of the file in the bucket. */
  key: string;
}

/** A stored file that a client may read. */
export interface DownloadRequest {
  /** Key of the file, as the upload handler got it. */
  key: string;
  /**
   * Makes browsers save the file instead of showing it.
   * @default false
   */
  attachment?: boolean;
}

/** Declared uploads: forms for clients, and the rules that `defineUploadHandler` verifies. */
export interface Upload {
  /** The options with their defaults. */
  readonly options: Readonly<Required<UploadOptions>>;
  /** Returns the name of the bucket. */
  getBucket(): string;
  /**
   * Creates a form for one file of up to `maxBytes`. S3 refuses a larger file, another type or owner.
   *
   * @throws {ValidationError} If the type is not accepted.
   */
  createForm(request: UploadRequest): Promise<UploadForm>;
  /**
   * Creates a URL for one file whose size is known. S3 refuses another size, type or owner, and a
   * second upload.
   *
   * @throws {ValidationError} If the type is not accepted, or the size is not from 1 to `maxBytes`.
   */
  createUrl(request: UploadRequest & { size: number }): Promise<UploadUrl>;
  /**
   * Creates a URL from which one stored file can be read for `expiresInSeconds`, by everybody who knows the
   * URL. It does not check whether the file exists. The role needs `s3:GetObject`.
   *
   * @throws {ConfigurationError} If the key is not a key of this upload.
   */
  createDownloadUrl(request: DownloadRequest): Promise<string>;
}

/** The header with the owner, which S3 keeps with the file. */
const OWNER_HEADER = "x-amz-meta-owner";

const GIGABYTE = 1024 ** 3;
const TEXT = someText("a text");

const RULES = {
  bucket: [
    (value) => typeof value === "function" || TEXT[0](value),
    "the name of a bucket, or a function that returns it",
  ],
  prefix: [
    (value) => typeof value === "string" && /^[\w.-]+(?:\/[\w.-]+)*$/.test(value),
    "letters, digits, dots, hyphens and underscores, with slashes between them",
  ],
  types: [
    (value) => Array.isArray(value) && value.length > 0 && value.every(isMediaType),
    'a list of media types in lower case such as ["image/png"]',
  ],
  maxBytes: wholeNumber([1, 5 * GIGABYTE, "bytes"]),
  expiresInSeconds: wholeNumber([1, 604_800, "seconds"]),
} as const satisfies Record<keyof UploadOptions, OptionRule>;

function isMediaType(value: unknown): boolean {
  return typeof value === "string" && /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(value);
}

/**
 * Declares files that clients upload directly to a bucket of S3. The function that creates a form
 * chooses key, owner, type and size, and S3 refuses everything else. Install `@aws-sdk/client-s3`,
 * and `@aws-sdk/s3-presigned-post` for forms or `@aws-sdk/s3-request-presigner` for URLs. Region and
 * credentials come from the environment; the role needs `s3:PutObject`.
 *
 * @param options Bucket, prefix, types and size. They are checked when the module is loaded.
 * @returns The upload.
 * @throws {ConfigurationError} If an option is unknown or invalid. The message names option and value.
 *
 * @example
 * ```ts
 * import { defineUpload } from "@trellis/fn/uploads";
 *
 * export const avatars = defineUpload({
 *   bucket: "files",
 *   prefix: "avatars",
 *   types: ["image/png", "image/jpeg"],
 *   maxBytes: 5_000_000,
 * });
 *
 * // in a handler: return reply(201, await avatars.createForm({ owner: userId, contentType: body.contentType }));
 * console.log(avatars.options.expiresInSeconds); // 300
 * ```
 */
export function defineUpload(options: UploadOptions): Upload {
  checkOptions("defineUpload", options, RULES);
  for (const name of ["bucket", "prefix", "types", "maxBytes"] as const) {
    checkOption(name, options[name], RULES[name]);
  }
  const { expiresInSeconds = 300 } = options;
  const all = { ...options, expiresInSeconds };
  const { bucket, prefix, types, maxBytes } = all;
  const getBucket = () => typeof bucket === "string" ? bucket : bucket();

  function begin({ owner, contentType }: UploadRequest): string {
    checkOption("owner", owner, [isOwner, "an id of letters, digits, dots, hyphens, underscores"]);
    if (!types.includes(contentType)) {
      throw invalid("contentType", `The type must be one of ${types.join(", ")}`);
    }
    return formatUploadKey(prefix, { owner, id: crypto.randomUUID() });
  }

  return record("defineUpload", [options], {
    options: all,
    getBucket,

    async createForm(request): Promise<UploadForm> {
      const key = begin(request);
      const presigner = await import("@aws-sdk/s3-presigned-post").catch(
        explainMissing(RUNTIME_PACKAGES, "@aws-sdk/s3-presigned-post", "createForm"),
      );
      const { client } = await connectS3();
      const { url, fields } = await limitRequest(
        S3_LIMIT,
        () =>
          presigner.createPresignedPost(client, {
            Bucket: getBucket(),
            Key: key,
            // each field is a condition too
            Fields: { "Content-Type": request.contentType, [OWNER_HEADER]: request.owner },
            Conditions: [["content-length-range", 1, maxBytes]],
            Expires: expiresInSeconds,
          }),
      );
      return { url, fields, key };
    },

    async createUrl(request): Promise<UploadUrl> {
      const { owner, contentType, size } = request;
      if (!Number.isInteger(size) || size < 1 || size > maxBytes) {
        throw invalid("size", `The size must be from 1 to ${maxBytes} bytes`);
      }
      const key = begin(request);
      const presigner = await loadPresigner("createUrl");
      const { sdk, client } = await connectS3();
      const command = new sdk.PutObjectCommand({
        Bucket: getBucket(),
        Key: key,
        ContentType: contentType,
        ContentLength: size,
        IfNoneMatch: "*",
        Metadata: { owner },
      });
      const url = await limitRequest(S3_LIMIT, () =>
        presigner.getSignedUrl(client, command, {
          expiresIn: expiresInSeconds,
          signableHeaders: new Set(["content-type", "content-length", "if-none-match", "host"]),
          // in the query they would need no header, and S3 would not check it
          unhoistableHeaders: new Set([OWNER_HEADER]),
        }));
      const headers = {
        "Content-Type": contentType,
        "If-None-Match": "*",
        [OWNER_HEADER]: owner,
      };
      return { url, method: "PUT", headers, key };
    },

    createDownloadUrl: (request) => signDownload(all, getBucket, request),
  });
}

async function signDownload(
  { prefix, expiresInSeconds }: { readonly prefix: string; readonly expiresInSeconds: number },
  getBucket: () => string,
  { key, attachment = false }: DownloadRequest,
): Promise<string> {
  const isOwnKey: OptionRule = [
    () => parseUploadKey(prefix, key) !== undefined,
    `a key of this upload: ${prefix}/<owner>/<id>`,
  ];
  checkOption("key", key, isOwnKey);
  const presigner = await loadPresigner("createDownloadUrl");
  const { sdk, client } = await connectS3();
  const command = new sdk.GetObjectCommand({
    Bucket: getBucket(),
    Key: key,
    ...(attachment && { ResponseContentDisposition: "attachment" }),
  });
  return await limitRequest(
    S3_LIMIT,
    () => presigner.getSignedUrl(client, command, { expiresIn: expiresInSeconds }),
  );
}

function loadPresigner(operation: string): Promise<typeof import("@aws-sdk/s3-request-presigner")> {
  return import("@aws-sdk/s3-request-presigner").catch(
    explainMissing(RUNTIME_PACKAGES, "@aws-sdk/s3-request-presigner", operation),
  );
}

function invalid(field: string, message: string): ValidationError {
  return new ValidationError("Validation failed", { errors: { [field]: [message] } });
}
