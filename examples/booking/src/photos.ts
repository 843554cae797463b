import { getRequiredEnv } from "@trellis/fn/env";
import { defineUpload } from "@trellis/fn/uploads";

/** Photos of rooms: the browser sends them to the bucket. The owner of a photo is its room. */
export const photos = defineUpload({
  bucket: () => getRequiredEnv("PHOTOS_BUCKET"),
  prefix: "rooms",
  types: ["image/png", "image/jpeg"],
  maxBytes: 5_000_000,
});
