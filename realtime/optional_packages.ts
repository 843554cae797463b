/** Optional packages of WebSocket pushes, with their supported versions. */
export const REALTIME_PACKAGES = {
  "@aws-sdk/client-apigatewaymanagementapi": "^3",
} as const;
