import { defineConfig } from "@trellis/fn/cli";

export default defineConfig({
  build: { databaseProviders: ["serverless-pg"], precompile: true },
});
