import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
import "../../../auth.ts";

export const handler = createAuthHandler(getConfiguredSessionAuth);
