import { createAuthHandler } from "../../../../../../../../auth/mod.ts";
import { getAuth } from "../../../auth.ts";

export const handler = createAuthHandler(getAuth);
