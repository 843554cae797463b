import { createAuthCleanupHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
import "../../auth.ts";

// removes expired sessions, verifications, limits and invitations
export const handler = createAuthCleanupHandler(getConfiguredSessionAuth);
