import * as z from "zod";

/** What a sender of webhooks gets. */
export const Accepted = z.object({ accepted: z.literal(true), repeated: z.boolean() });
