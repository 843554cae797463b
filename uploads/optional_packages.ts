/** Optional packages of uploads, with their supported versions. */
export const UPLOAD_PACKAGES = {
  "@aws-sdk/client-s3": "^3",
  "@aws-sdk/s3-presigned-post": "^3",
  "@aws-sdk/s3-request-presigner": "^3",
} as const;
