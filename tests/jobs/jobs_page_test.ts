import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import * as z from "zod";
import { createJobWorker, defineJob, PermanentJobError, renderJobsPage } from "../../jobs/mod.ts";
import { sha256 } from "../../core/digest.ts";
import {
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  createTestDatabase,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { createJobsTable } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const { db, close } = await createTestDatabase();
await createJobsTable(db);
Deno.test.afterAll(close);

const fails = defineJob({ name: "send-mail", schema: z.object({ to: z.string() }) })(() => {
  throw new PermanentJobError('<script>alert("&")</script>\nsecond line');
});
const waits = defineJob({ name: "index-note", schema: z.null() })(() => {});
const dead = await fails.enqueue(db, { to: "<ada@example.com>" }, { group: "a&b" });
await createJobWorker({ getDb: () => db, jobs: [fails], ...QUIET }).runDue();
const queued = await waits.enqueue(db, null);

const page = defineApiHandler(QUIET)(({ event }) => renderJobsPage(db, event));
const withPayloads = defineApiHandler(QUIET)(({ event }) =>
  renderJobsPage(db, event, { payloads: true })
);

async function open(query: Record<string, string>, handler: typeof page = page) {
  const event = createRestApiEvent({ method: "GET", path: "/admin/jobs", query });
  return await handler(event, createLambdaContext());
}

Deno.test("the page counts the jobs and lists them by state and name", async () => {
  const { statusCode, body } = await open({});
  assertEquals(statusCode, 200);
  assertStringIncludes(body, `<a href="?id=${dead}">send-mail</a>`);
  assertStringIncludes(body, `<a href="?id=${queued}">index-note</a>`);
  assertStringIncludes(body, '<a href="?name=send-mail&amp;state=dead">dead</a></td><td>1</td>');

  const filtered = await open({ state: "dead" });
  assertNotMatch(filtered.body, new RegExp(queued));
  assertStringIncludes(filtered.body, '<option value="dead" selected>');
  const event = createHttpApiEvent({ method: "GET", path: "/jobs", query: { name: "index-note" } });
  const named = await page(event, createLambdaContext());
  assertNotMatch(named.body, new RegExp(dead));
  assertStringIncludes(named.body, 'value="index-note"');
  assertStringIncludes((await open({ state: "no such state" })).body, dead);
});

Deno.test("the page shows which jobs wait for their limit", async () => {
  const rated = defineJob({
    name: "rated",
    schema: z.int(),
    limit: { rate: { count: 1, periodSeconds: 3600 } },
  })(() => {});
  const ids = await rated.enqueueMany(db, [1, 2, 3]);
  await createJobWorker({ getDb: () => db, jobs: [rated], ...QUIET }).runDue();
  const { body } = await open({ name: "rated" });
  assertEquals(body.split("<td>queued, waits for its limit</td>").length, 3);
  const [counted] = /state=queued">queued<.*?<\/tr>/.exec(body.slice(body.indexOf("rated")))!;
  assertMatch(counted, /<td>2<\/td><td>2<\/td><td>\d s<\/td><td>2<\/td>/);
  const shown = await Promise.all(ids.map((id) => open({ id })));
  assertEquals(shown.filter(({ body }) => body.includes("waits for its limit")).length, 2);
});

Deno.test("the page shows one job, and its payload only if the project wants it", async () => {
  const { body } = await open({ id: dead });
  assertStringIncludes(body, "&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;\nsecond line");
  assertStringIncludes(body, "a&amp;b");
  assertNotMatch(body, /example\.com|<script/);
  const shown = await open({ id: dead }, withPayloads);
  assertStringIncludes(shown.body, "&lt;ada@example.com&gt;");

  for (const id of [crypto.randomUUID(), "1'", ""]) {
    assertEquals((await open({ id })).statusCode, 404);
  }
});

Deno.test("browsers run no script of the page, and use its own style", async () => {
  for (const query of [{}, { id: dead }, { name: '"><script>' }]) {
    const { headers = {}, body } = await open(query as Record<string, string>);
    const policy = String(headers["Content-Security-Policy"]);
    const [, style] = /<style>([^<]*)<\/style>/.exec(body)!;
    const hash = btoa(String.fromCharCode(...await sha256(style)));
    assertStringIncludes(policy, `default-src 'none'; style-src 'sha256-${hash}'`);
    assertNotMatch(body, /<script|style=/);
  }
});
