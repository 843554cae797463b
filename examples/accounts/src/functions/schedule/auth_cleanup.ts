import { createAuthCleanupHandler } from "@trellis/fn/auth";
import { getAuth } from "../../auth.ts";

// removes expired sessions, verifications, limits and invitations
export const handler = createAuthCleanupHandler(getAuth);
