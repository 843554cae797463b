import { undeclared } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";

export const handler = defineApiHandler({
  pathSchema: z.object({ name: z.string() }),
  ranges: true,
})(
  function downloadFile({ path }) {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    return undeclared({
      statusCode: 200,
      headers: {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": `attachment; filename*=UTF-8''${encodeURIComponent(path.name)}`,
      },
      body: btoa(String.fromCharCode(...bytes)),
      isBase64Encoded: true,
    });
  },
);
