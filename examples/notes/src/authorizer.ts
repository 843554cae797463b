import { extractBearerToken, getConfiguredSessionAuth, validateSession } from "@trellis/fn/auth";
import { type AuthorizerContext, headerOf, type RestApiEvent, UserStatus } from "@trellis/fn/core";
import { isAppError } from "@trellis/fn/errors";
import "./auth.ts";

/** What the gateway's authorizer says of a caller: the context that handlers with auth `authorizer…` read. */
export async function authorize(event: RestApiEvent): Promise<AuthorizerContext> {
  const header = headerOf(event, "Authorization");
  if (header === undefined) return { userStatus: UserStatus.Anonymous };
  const token = extractBearerToken(header);
  if (token === null) return { userStatus: UserStatus.Unauthenticated };
  try {
    const { user } = await validateSession(await getConfiguredSessionAuth(), token);
    return { userStatus: UserStatus.Authenticated, userId: user.id };
  } catch (error) {
    if (isAppError(error, "UNAUTHORIZED")) return { userStatus: UserStatus.Unauthenticated };
    throw error;
  }
}
