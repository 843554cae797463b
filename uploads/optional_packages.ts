/** Optional packages of uploads, with their supported versions. */
export const UPLOAD_PACKAGES = {
  "@aws-sdk/client-s3": "^3.1164.0",
  "@aws-sdk/s3-presigned-post": "^3.1164.0",
  "@aws-sdk/s3-request-presigner": "^3.1164.0",
} as const;
