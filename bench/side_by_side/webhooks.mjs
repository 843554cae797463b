/**
 * Checks of webhook signatures: ours over `node:crypto` and over Web Crypto alone, beside the same by hand and the peers'.
 * Runs in a copy of the harness in which the npm package is installed: see ../side_by_side.ts.
 */
import { createHmac, timingSafeEqual, webcrypto } from "node:crypto";
import * as octokit from "@octokit/webhooks-methods";
import Stripe from "stripe";
import { validateCodeHostWebhook, validatePaymentsWebhook } from "@trellis/fn/auth";
import { build } from "esbuild";
import { interleave } from "../lib/interleave.mjs";
import { table } from "../lib/stats.mjs";

const SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const SIZES = { "1 KB": 1024, "100 KB": 102_400, "1 MB": 1_048_576 };
const { subtle } = webcrypto;
const encoder = new TextEncoder();

/** Our functions once more, in a module of their own that has Web Crypto alone. */
const webOnly = async () => {
  const auth = new URL("../node_modules/@trellis/fn/auth/", import.meta.url).pathname;
  const contents = `export * from ${JSON.stringify(`${auth}webhooks.js`)}; export { setHmacEngine, webHmac } from ${
    JSON.stringify(`${auth}hmac.js`)
  };`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: auth },
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
    logLevel: "error",
  });
  const ours = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
  ours.setHmacEngine(ours.webHmac);
  return ours;
};

const getBody = (size) => {
  const row = '{"id":"evt_0123456789","type":"order.paid","amount":12950,"currency":"eur","live":true}';
  const rows = Array.from({ length: Math.max(1, Math.floor((size - 14) / (row.length + 1))) }, () => row);
  return `{"events":[${rows.join(",")}]}`.padEnd(size, " ");
};

const casesOf = async (payload, web) => {
  const hex = createHmac("sha256", SECRET).update(payload).digest("hex");
  const header = `sha256=${hex}`;
  const wrong = `sha256=${hex.slice(0, -4)}${hex.endsWith("0000") ? "1111" : "0000"}`;
  const seconds = Math.floor(Date.now() / 1000);
  const sign = (secret) =>
    `t=${seconds},v1=${createHmac("sha256", secret).update(`${seconds}.${payload}`).digest("hex")}`;
  const key = await subtle.importKey("raw", encoder.encode(SECRET), { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const stripe = new Stripe("sk_test_0");
  const crypto = Stripe.createNodeCryptoProvider();
  const must = async (value) => {
    if (!await value) throw new Error("no match");
  };
  const good = {
    "Web Crypto by hand, cached key": (h) =>
      must(subtle.verify("HMAC", key, Buffer.from(h.slice(7), "hex"), encoder.encode(payload))),
    "validateCodeHostWebhook, Web Crypto alone": (h) => web.validateCodeHostWebhook(payload, h, SECRET),
    "createHmac by hand": (h) =>
      must(timingSafeEqual(createHmac("sha256", SECRET).update(payload).digest(), Buffer.from(h.slice(7), "hex"))),
    "validateCodeHostWebhook": (h) => validateCodeHostWebhook(payload, h, SECRET),
    "@octokit/webhooks-methods": (h) => must(octokit.verify(SECRET, payload, h)),
  };
  for (const [name, check] of Object.entries(good)) {
    await check(header);
    if (await check(wrong).then(() => true, () => false)) throw new Error(`${name} takes a wrong signature`);
  }
  const timestamped = sign(SECRET);
  return {
    ...Object.fromEntries(Object.entries(good).map(([name, check]) => [name, () => check(header)])),
    "validatePaymentsWebhook": () => validatePaymentsWebhook(payload, timestamped, SECRET, 1e9),
    "stripe constructEvent, with JSON.parse": () =>
      void stripe.webhooks.constructEvent(payload, timestamped, SECRET, 1e9, crypto),
  };
};

export const run = async ({ quick = false, log = () => {} } = {}) => {
  const how = quick ? { rounds: 9, warmMs: 300, targetMs: 30 } : { rounds: 31, warmMs: 600, targetMs: 50 };
  const web = await webOnly();
  const result = {};
  for (const [label, size] of Object.entries(SIZES)) {
    log(label);
    const cases = await casesOf(getBody(size), web);
    const hand = await interleave(
      Object.fromEntries(
        ["Web Crypto by hand, cached key", "validateCodeHostWebhook, Web Crypto alone"].map((n) => [n, cases[n]]),
      ),
      how,
    );
    const node = await interleave(
      Object.fromEntries([
        "createHmac by hand",
        ...Object.keys(cases).filter((n) => !(n in hand) && n !== "createHmac by hand"),
      ].map((n) => [n, cases[n]])),
      how,
    );
    result[label] = Object.values({ ...hand, ...node }).map((r) => ({
      ...r,
      group: r.name in hand ? "Web Crypto" : "createHmac",
      toWeb: r.us / hand["Web Crypto by hand, cached key"].us,
    }));
  }
  return result;
};

export const report = (result) =>
  Object.entries(result).map(([label, rows]) =>
    table([
      [label, "name"],
      ["µs", "us", 2],
      ["± %", (r) => r.spread * 100, 0],
      ["× by hand", "ratio", 2],
      ["× Web Crypto, cached key", "toWeb", 2],
    ], rows)
  ).join("\n\n");
