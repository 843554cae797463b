import { assertEquals } from "@std/assert";
import { toLoadError } from "../../../cli/sources/build_error.ts";

Deno.test("toLoadError() names the command that installs an optional package which a function lacks", () => {
  const cases = [
    [
      "Cannot find package 'hono' imported from /project/node_modules/@trellis/fn/router/mod.js",
      'Install it: npm install "hono@^4.13.19"',
    ],
    [
      "Cannot find module '@aws-sdk/client-s3/dist/index.js'",
      'Install it: npm install "@aws-sdk/client-s3@^3"',
    ],
    ["Cannot find package 'left-pad' imported from /project/src/a.ts", undefined],
  ] as const;
  for (const [text, hint] of cases) {
    const { errors: [{ message }] } = toLoadError("Notes", new Error(text), "/elsewhere");
    assertEquals(message, hint === undefined ? `Error: ${text}` : `Error: ${text}. ${hint}`);
  }
});
