/** The optional packages of this folder, with their supported versions. */
export const AUTH_PACKAGES = { "better-auth": "^1.7.25", "jose": "^6.2.3" } as const;
