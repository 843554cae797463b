import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { denoProjectFiles, writeTestProject } from "./project.ts";

const AUTH = (plugins: string) =>
  `import { configureSessionAuth } from "@trellis/fn/auth";
import { getDrizzleClient } from "@trellis/fn/database";
configureSessionAuth(() => getDrizzleClient({ provider: "serverless-pg" }), {
  secret: "at-least-32-random-characters-0123456789",
  baseURL: "https://api.example.com",
  mail: async () => (await import("./mails.ts")).mails,
  plugins: async () => [${plugins}],
});
`;

const MAILS = `import { createAccountMails } from "@trellis/fn/auth";
import { getDrizzleClient } from "@trellis/fn/database";
export const mails = createAccountMails({
  getDb: () => getDrizzleClient({ provider: "serverless-pg" }),
  appName: "Text of a template",
});
`;

const SESSION_CHECK = {
  "src/functions/api/me.get.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import "../../auth.ts";
export const handler = defineApiHandler({ auth: "session" })(({ userId }) => ({ statusCode: 200, body: userId }));
`,
};

const AUTH_ROUTES = {
  "src/functions/api/auth/[...proxy].any.ts":
    `import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
import "../../../auth.ts";
export const handler = createAuthHandler(getConfiguredSessionAuth);
`,
};

async function getSizes(
  plugins: string,
  functions: Record<string, string>,
): Promise<Record<string, number>> {
  await using project = await writeTestProject({
    ...await denoProjectFiles(),
    ...functions,
    "src/auth.ts": AUTH(plugins),
    "src/mails.ts": MAILS,
  });
  const { exitCode, stderr } = await project.build();
  assertEquals(exitCode, 0, stderr);
  const sizes: Record<string, number> = {};
  for await (const { name } of Deno.readDir(`${project.root}/dist`)) {
    const code = await Deno.readTextFile(`${project.root}/dist/${name}/index.mjs`);
    if (name === "Me" && plugins !== "") {
      assertStringIncludes(code, "trellis build omitted better-auth from this function");
    }
    assertEquals(code.includes("Text of a template"), name !== "Me", name);
    // a default that is only built for better-auth
    assertEquals(code.includes("disableOriginCheck:!1"), name !== "Me", name);
    sizes[name] = code.length;
  }
  return sizes;
}

Deno.test("trellis build leaves plugins and mails out of a function that only checks sessions", async () => {
  const bare = await getSizes("", SESSION_CHECK);
  const full = await getSizes(
    `(await import("better-auth/plugins/magic-link")).magicLink({ sendMagicLink() {} }), (await import("better-auth/plugins/one-time-token")).oneTimeToken()`,
    { ...SESSION_CHECK, ...AUTH_ROUTES },
  );
  // the configuration itself, and the reason for the omission
  assert(full.Me - bare.Me < 2000, `${bare.Me} → ${full.Me}`);
  assert(full.AuthByProxy > 1_000_000, `${full.AuthByProxy}`);
});
