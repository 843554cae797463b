/**
 * What a webhook check and a session check cost, against the same done by hand.
 *
 *   deno bench -A bench/auth_bench.ts
 */
import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { Buffer } from "node:buffer";
import * as nodeCrypto from "node:crypto";
import { nodeHmac, setHmacEngine, webHmac } from "../core/http/hmac.ts";
import { createAuth } from "../auth/accounts/instance.ts";
import { AUTH_MIGRATION_SQL } from "../auth/tables/migration.ts";
import { validateSession } from "../auth/sessions/sessions.ts";
import { validateCodeHostWebhook } from "../auth/webhooks/webhooks.ts";
import { setLogOutput } from "../observability/output.ts";

const { createHmac, timingSafeEqual } = nodeCrypto;

setLogOutput(() => {});
// deno bench waits for async functions alone: one that only returns a promise would be called without end

const SECRET = "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA-bench";

for (const [size, bytes] of [["1 KB", 1024], ["100 KB", 102_400], ["1 MB", 1_048_576]] as const) {
  const payload = new Uint8Array(bytes).fill(97);
  const header = `sha256=${createHmac("sha256", SECRET).update(payload).digest("hex")}`;
  const group = `webhook ${size}`;
  Deno.bench({
    name: "by hand: createHmac + timingSafeEqual",
    group,
    baseline: true,
    fn(): void {
      const expected = createHmac("sha256", SECRET).update(payload).digest();
      if (!timingSafeEqual(expected, Buffer.from(header.slice(7), "hex"))) {
        throw new Error("no match");
      }
    },
  });
  Deno.bench({
    name: "validateCodeHostWebhook",
    group,
    fn: async () => await validateCodeHostWebhook(payload, header, SECRET),
  });
  Deno.bench({
    name: "validateCodeHostWebhook, Web Crypto",
    group,
    async fn(bench): Promise<void> {
      setHmacEngine(webHmac);
      bench.start();
      await validateCodeHostWebhook(payload, header, SECRET);
      bench.end();
      setHmacEngine(nodeHmac(nodeCrypto));
    },
  });
}

const pglite = new PGlite();
await pglite.exec(AUTH_MIGRATION_SQL);
await pglite.exec(`
  INSERT INTO users (name, email) SELECT 'User ' || i, 'u' || i || '@example.com' FROM generate_series(1, 2000) i;
  INSERT INTO sessions (expires_at, token, user_id) SELECT now() + interval '30 days', md5(email), id FROM users;
  ANALYZE`);
const { rows: [{ token }] } = await pglite.query<{ token: string }>(
  "SELECT md5('u7@example.com') AS token",
);
const signed = `${token}.${createHmac("sha256", SECRET).update(token).digest("base64")}`;
const auth = createAuth(drizzle(pglite), { secret: SECRET, baseURL: "http://localhost:3000" });
const headers = new Headers({ authorization: `Bearer ${token}` });
const JOIN =
  `SELECT s.id, s.token, s.expires_at, u.id AS user_id, u.email, u.name, u.image, u.email_verified FROM sessions s
  JOIN users u ON u.id = s.user_id WHERE s.token = $1 AND s.expires_at > now() LIMIT 1`;

Deno.bench({
  name: "by hand: one join",
  group: "session on PGlite",
  baseline: true,
  async fn(): Promise<void> {
    if ((await pglite.query(JOIN, [token])).rows.length !== 1) throw new Error("no session");
  },
});
Deno.bench({
  name: "validateSession, raw token",
  group: "session on PGlite",
  fn: async () => void await validateSession(auth, token),
});
Deno.bench({
  name: "validateSession, signed token",
  group: "session on PGlite",
  fn: async () => void await validateSession(auth, signed),
});
Deno.bench({
  name: "better-auth getSession",
  group: "session on PGlite",
  async fn(): Promise<void> {
    if (await auth.api.getSession({ headers }) === null) throw new Error("no session");
  },
});

globalThis.addEventListener("unload", () => void pglite.close());
