import { validateSession } from "@trellis/fn/auth";
import { UserStatus } from "@trellis/fn/core";
import { isAppError } from "@trellis/fn/errors";
import { getAuth } from "./auth.ts";

/** Identity of the caller for handlers with auth `authorizer…`. */
export interface Caller {
  readonly userStatus: UserStatus;
  readonly userId?: string;
}

/**
 * Identifies the caller.
 *
 * @param token The bearer token, or `undefined`.
 */
export async function findCaller(token: string | undefined): Promise<Caller> {
  if (token === undefined) return { userStatus: UserStatus.Anonymous };
  try {
    const { user } = await validateSession(await getAuth(), token);
    return { userStatus: UserStatus.Authenticated, userId: user.id };
  } catch (error) {
    if (isAppError(error, "UNAUTHORIZED")) return { userStatus: UserStatus.Unauthenticated };
    throw error;
  }
}
