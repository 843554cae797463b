import { createAuthHandler } from "@trellis/fn/auth";
import { getAuth } from "../../../auth.ts";

export const handler = createAuthHandler(getAuth);
