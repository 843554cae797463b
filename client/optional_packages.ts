/** The optional packages of this folder, with their supported versions. */
export const CLIENT_PACKAGES = { "openapi-fetch": ">=0.17.0 <1" } as const;
