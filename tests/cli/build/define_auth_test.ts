import { assertEquals } from "@std/assert";
import { denoProjectFiles, writeTestProject } from "./project.ts";

const AUTH = `import { defineAuth } from "@trellis/fn/auth";
import { getDrizzleClient } from "@trellis/fn/database";
import * as schema from "./tables.ts";
export const { session, apiKey, jwt, getAuth } = defineAuth(
  () => getDrizzleClient({ provider: "serverless-pg" }),
  { secret: "at-least-32-random-characters-0123456789", baseURL: "https://api.example.com", schema },
);
`;

const TABLES = `export { authUsers as user } from "@trellis/fn/auth/schema";
import { boolean, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
const at = () => timestamp("at"), count = () => integer("count"), word = () => text("word");
export const apikey = pgTable("keys", {
  id: word(), configId: word(), name: word(), referenceId: word(), key: word(), permissions: word(), metadata: word(),
  refillInterval: count(), refillAmount: count(), lastRefillAt: at(), enabled: boolean("enabled"),
  rateLimitEnabled: boolean("limited"), rateLimitTimeWindow: count(), rateLimitMax: count(), requestCount: count(),
  remaining: count(), lastRequest: at(), expiresAt: at(), createdAt: at(), updatedAt: at(),
});
`;

const route = (name: string, value: string) =>
  `import { defineApiHandler } from "@trellis/fn/validation";
import { ${name} } from "../../auth.ts";
export const handler = defineApiHandler({ auth: ${value} })(({ userId }) => ({ statusCode: 200, body: "" + userId }));
`;

/** A text of each part that only its code has. */
const PARTS = {
  sessions: "The session is invalid or has expired",
  keys: "The API key is not valid",
  tokens: "ERR_JWKS_MULTIPLE_MATCHING_KEYS",
  "better-auth": "disableOriginCheck:!1",
};

Deno.test("trellis build bundles of defineAuth() only what the handler of a function uses", async () => {
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/auth.ts": AUTH,
    "src/tables.ts": TABLES,
    "src/functions/api/me.get.ts": route("session", "session({ freshWithinSeconds: 300 })"),
    "src/functions/api/keys.get.ts": route(
      "apiKey",
      `apiKey({ permissions: { notes: ["read"] } })`,
    ),
    "src/functions/api/tokens.get.ts": route(
      "jwt",
      `jwt({ issuer: "https://login.example.com", audience: "notes" })`,
    ),
    "src/functions/api/auth/[...proxy].any.ts":
      `import { createAuthHandler } from "@trellis/fn/auth";
import { getAuth } from "../../../auth.ts";
export const handler = createAuthHandler(getAuth);
`,
  });
  try {
    const { exitCode, stderr } = await project.build();
    assertEquals(exitCode, 0, stderr);
    const found: Record<string, string[]> = {};
    for (const name of ["Me", "Keys", "Tokens", "AuthByProxy"]) {
      const code = await Deno.readTextFile(`${project.root}/dist/${name}/index.mjs`);
      found[name] = Object.entries(PARTS).filter(([, text]) => code.includes(text)).map(([part]) =>
        part
      );
    }
    assertEquals(found, {
      Me: ["sessions"],
      Keys: ["sessions", "keys"],
      Tokens: ["sessions", "tokens"],
      // better-auth checks tokens, too
      AuthByProxy: ["sessions", "keys", "tokens", "better-auth"],
    });
    for (const name of ["Me", "Keys", "Tokens"]) {
      const event = { httpMethod: "GET", path: "/", headers: {}, requestContext: {} };
      const { answer, logged } = await project.call(name, { event });
      assertEquals(answer.statusCode, 401, logged);
    }
  } finally {
    await project.remove();
  }
});
