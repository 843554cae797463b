import { defineConfig } from "@trellis/fn/cli";

export default defineConfig({
  openapi: { title: "Accounts", version: "1.0.0", description: "Accounts with better-auth." },
  infra: {
    environment: { JOBS_QUEUE_URL: { queue: "mail" } },
  },
});
