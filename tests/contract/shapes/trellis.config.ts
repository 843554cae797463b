import { defineConfig } from "@trellis/fn/cli";

export default defineConfig({
  openapi: { file: ".trellis/openapi.json", title: "Shapes", version: "1.0.0" },
});
