import { getConfiguredSessionAuth, validateSession } from "@trellis/fn/auth";
import { UserStatus } from "@trellis/fn/core";
import { isAppError } from "@trellis/fn/errors";
import "./auth.ts";

/** What handlers with auth `authorizer…` are told about a caller. */
export interface Caller {
  readonly userStatus: UserStatus;
  readonly userId?: string;
}

/**
 * Finds out who shows a credential.
 *
 * @param token What was shown, `undefined` for nothing.
 */
export async function findCaller(token: string | undefined): Promise<Caller> {
  if (token === undefined) return { userStatus: UserStatus.Anonymous };
  try {
    const { user } = await validateSession(await getConfiguredSessionAuth(), token);
    return { userStatus: UserStatus.Authenticated, userId: user.id };
  } catch (error) {
    if (isAppError(error, "UNAUTHORIZED")) return { userStatus: UserStatus.Unauthenticated };
    throw error;
  }
}
