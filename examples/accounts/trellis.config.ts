import { defineConfig } from "@trellis/fn/cli";

// parsed by the commands, never executed: use literals
export default defineConfig({
  openapi: { title: "Accounts", version: "1.0.0", description: "Accounts with better-auth." },
  infra: {
    environment: { JOBS_QUEUE_URL: { queue: "mail" } },
  },
});
