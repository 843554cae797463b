import { defineConfig } from "@trellis/fn/cli";

export default defineConfig({
  openapi: { title: "Notes", version: "1.0.0", description: "The example application of Trellis." },
  build: { databaseProviders: ["distsql"] },
  infra: {
    projectName: "notes",
    region: "eu-central-1",
    environment: {
      AUTH_BASE_URL: { variable: true },
      CORS_ALLOW_ORIGIN: { variable: true, default: "https://notes.example.com" },
      SERVICE_NAME: "notes",
    },
  },
});
