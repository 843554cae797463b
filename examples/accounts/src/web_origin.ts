import { getOptionalEnv } from "@trellis/fn/env";

/** The web page is on another origin, so it must be trusted. */
export const webOrigin = getOptionalEnv("WEB_ORIGIN", "http://localhost:3000");
