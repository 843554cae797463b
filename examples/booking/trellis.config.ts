import { defineConfig } from "@trellis/fn/cli";

export default defineConfig({
  openapi: { title: "Booking", version: "1.0.0", description: "Rooms and their bookings." },
  // Aurora DSQL has no enums: there the column is text with a check
  database: { translation: { enums: "check" } },
  client: { file: "web/api_types.ts" },
  infra: {
    projectName: "booking",
    region: "eu-central-1",
    environment: {
      AUTH_BASE_URL: { api: "/auth" },
      // the stage below sets it; trellis dev uses the default of the source
      WEB_ORIGIN: { variable: true },
      JOBS_QUEUE_URL: { queue: "mail" },
      PHOTOS_BUCKET: { bucket: "photos" },
    },
    stages: {
      prod: {
        variables: { web_origin: "https://booking.example.com" },
      },
    },
    functions: {
      ExpireRequests: { schedule: "rate(1 hour)" },
      RoomPhotos: { bucket: "photos", prefix: "rooms/" },
    },
    buckets: { photos: { corsAllowedOrigins: [{ variable: "WEB_ORIGIN" }] } },
    mail: { identity: "example.com" },
  },
});
