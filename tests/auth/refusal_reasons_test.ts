import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { defineAuth, validateStandardWebhook } from "../../auth/mod.ts";
import { createWebhookAuth } from "../../auth/webhooks/webhook_auth.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { ACCOUNTS_CONFIG, signUp, toSignedIn } from "./accounts_app.ts";
import { accountsSchema, openAccountsDatabase } from "./accounts_database.ts";
import { API_KEY_TABLE, apikey } from "./api_keys_database.ts";
import { startIssuer } from "./jwt_issuer.ts";

const { pglite, db } = await openAccountsDatabase();
await pglite.exec(API_KEY_TABLE);
globalThis.addEventListener("unload", () => void pglite.close());

const { session, apiKey, jwt } = defineAuth(() => Promise.resolve(db), {
  ...ACCOUNTS_CONFIG,
  schema: { ...accountsSchema, apikey },
});

/** Sends a request, and returns the answer without its ids, and the reason in the log line. */
async function ask(auth: AuthMethod, headers: Record<string, string>) {
  const handler = defineApiHandler({ auth, metrics: false })(() => ({ statusCode: 200, body: "" }));
  const { result: { statusCode, body }, lines, writes } = await captureLogs(() =>
    handler(createRestApiEvent({ headers }), createLambdaContext())
  );
  const written = writes.join("");
  // queries have lines of metrics
  const outcomes = lines.filter(({ error_code }) => error_code === "UNAUTHORIZED");
  assertEquals([statusCode, outcomes.length], [401, 1]);
  for (const value of Object.values(headers)) {
    for (const part of value.split(/[ =.]/).filter(({ length }) => length > 12)) {
      assert(!written.includes(part), written);
    }
  }
  const { message, ...rest } = JSON.parse(body);
  assertEquals(Object.keys(rest), ["code", "requestId", "correlationId"]);
  return { reason: outcomes[0].reason, message };
}

/** Asks with each credential, and returns the reasons and the messages. */
async function askAll(auth: AuthMethod, cases: readonly Record<string, string>[]) {
  const answers = [];
  for (const headers of cases) answers.push(await ask(auth, headers));
  return {
    reasons: answers.map(({ reason }) => reason),
    messages: answers.map(({ message }) => message),
  };
}

Deno.test("the log line of a refused session has the reason, and the answer does not", async () => {
  const ada = await signUp(db, "ada@example.com");
  const bob = await signUp(db, "bob@example.com");
  const eve = await signUp(db, "eve@example.com");
  await pglite.query("UPDATE visits SET expires_at = now() WHERE user_id = $1", [bob.id]);
  await pglite.query("UPDATE people SET banned = true WHERE id = $1", [eve.id]);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const unknown = toSignedIn("u", "0123456789abcdef0123456789abcdef");
  const forged = ada.cookie.replace(/.{8}%3D$/, "AAAAAAAA%3D");
  const { reasons, messages } = await askAll(session(), [
    {},
    { cookie: "theme=dark" },
    { authorization: "Basic QWRhOmJhYmJhZ2UtbG9uZy1lbm91Z2g=" },
    { cookie: forged },
    bearer(unknown.token),
    { cookie: unknown.cookie },
    bearer(bob.token),
    { cookie: bob.cookie },
    bearer(eve.token),
    bearer(`${ada.token}.${"A".repeat(43)}=`),
    bearer("x".repeat(5000)),
  ]);
  assertEquals(reasons, [
    "no credential",
    "no credential",
    "malformed",
    "bad signature",
    "unknown",
    "unknown",
    "expired",
    "expired",
    "banned user",
    "bad signature",
    "malformed",
  ]);
  assertEquals(new Set(messages.slice(4)).size, 1);
});

Deno.test("the log line of a refused API key has the reason, and the answer does not", async () => {
  const dan = await signUp(db, "dan@example.com");
  const kim = await signUp(db, "kim@example.com");
  await pglite.query("UPDATE people SET banned = true WHERE id = $1", [kim.id]);
  const keys: [name: string, columns: Record<string, unknown>][] = [
    ["disabled", { enabled: false }],
    ["expired", { expires_at: "2020-01-01" }],
    ["wrong configuration", { config_id: "other" }],
    ["unknown owner", { reference_id: "7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69" }],
    ["banned user", { reference_id: kim.id }],
  ];
  const toKey = (name: string) => `key-of-a-test-${name.replaceAll(" ", "-")}`;
  for (const [name, columns] of keys) {
    const row = {
      id: crypto.randomUUID(),
      key: createHash("sha256").update(toKey(name)).digest("base64url"),
      config_id: "default",
      reference_id: dan.id,
      enabled: true,
      created_at: "2026-01-01",
      updated_at: "2026-01-01",
      ...columns,
    };
    await pglite.query(
      `INSERT INTO api_keys (${Object.keys(row)}) VALUES (${
        Object.keys(row).map((_, i) => `$${i + 1}`)
      })`,
      Object.values(row),
    );
  }
  const { reasons, messages } = await askAll(apiKey({ configId: "default" }), [
    {},
    { "x-api-key": "é" },
    { "x-api-key": toKey("unknown") },
    ...keys.map(([name]) => ({ "x-api-key": toKey(name) })),
  ]);
  assertEquals(reasons, [
    "no credential",
    "malformed",
    "unknown",
    ...keys.map(([name]) => name),
  ]);
  assertEquals(new Set(messages.slice(1)).size, 1);
});

Deno.test("the log line of a refused JSON web token has the reason, and the answer does not", async () => {
  const server = startIssuer();
  await server.addKey("ES256", "k1");
  const auth = jwt({ issuer: server.issuer, audience: "notes" });
  const seconds = Math.floor(Date.now() / 1000);
  const claims = { iss: server.issuer, aud: "notes", sub: "u1", exp: seconds + 60 };
  const good = await server.sign("k1", claims);
  const signed = (changes: object, header?: Record<string, unknown>) =>
    server.sign("k1", { ...claims, ...changes }, header);
  const tokens = [
    "not-a-json-web-token",
    good.replace(/.{8}$/, "AAAAAAAA"),
    await signed({ exp: seconds - 60 }),
    await signed({ aud: "mail" }),
    await signed({ iss: "https://evil.example" }),
    await signed({ sub: undefined }),
    await signed({}, { kid: "k2" }),
  ];
  const { reasons, messages } = await askAll(auth, [
    {},
    { authorization: "Basic QWRhOmJhYmJhZ2UtbG9uZy1lbm91Z2g=" },
    ...tokens.map((token) => ({ authorization: `Bearer ${token}` })),
  ]);
  assertEquals(reasons, [
    "no credential",
    "malformed",
    "malformed",
    "bad signature",
    "expired",
    "claim aud",
    "claim iss",
    "claim sub",
    "unknown signing key",
  ]);
  assertEquals(new Set(messages.slice(2)).size, 1);
  await server.close();
});

Deno.test("the log line of a refused webhook has the reason", async () => {
  const secret = `whsec_${btoa("a secret of twenty-four b")}`;
  const auth = createWebhookAuth((payload, { headers }) =>
    validateStandardWebhook(payload, headers as Record<string, string>, secret)
  );
  const signed = (time: number, signature: string) => ({
    "webhook-id": "m1",
    "webhook-timestamp": String(time),
    "webhook-signature": signature,
  });
  const now = Math.floor(Date.now() / 1000);
  const { reasons } = await askAll(auth, [
    {},
    signed(now, "v1,!"),
    signed(now, `v1,${"A".repeat(43)}=`),
  ]);
  assertEquals(reasons, ["no credential", "malformed", "bad signature"]);
});
