import type * as names from "../column_names.ts";

/** The property names of the built-in columns by model, in a bundle without drizzle. */
export const COLUMN_NAMES: typeof names.COLUMN_NAMES = {
  user: ["id", "name", "email", "emailVerified", "image", "createdAt", "updatedAt"],
  session: [
    "id",
    "expiresAt",
    "token",
    "createdAt",
    "updatedAt",
    "ipAddress",
    "userAgent",
    "userId",
  ],
  account: [
    "id",
    "accountId",
    "providerId",
    "userId",
    "accessToken",
    "refreshToken",
    "idToken",
    "accessTokenExpiresAt",
    "refreshTokenExpiresAt",
    "scope",
    "password",
    "createdAt",
    "updatedAt",
  ],
  verification: ["id", "identifier", "value", "expiresAt", "createdAt", "updatedAt"],
};
