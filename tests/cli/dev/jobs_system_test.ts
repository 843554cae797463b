import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { JOBS_MIGRATION_SQL } from "../../../jobs/mod.ts";
import { browserPath, launchBrowser } from "../../support/browser.ts";
import { createTestProject, SERVED } from "./fixtures/project.ts";

const PROJECT = {
  "package.json": '{ "name": "fixture", "type": "module" }',
  "migrations/0001_jobs.sql": JOBS_MIGRATION_SQL,
  "src/jobs.ts": `import { defineJob, PermanentJobError } from "@trellis/fn/jobs";
import { getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
import { logInfo } from "@trellis/fn/observability";
import * as z from "zod";
export const getDb = () => getDrizzleClient({ provider: "embedded-pg", connectionString: getRequiredEnv("DATABASE_URL") });
export const state = globalThis as { isBroken?: boolean };
export const greet = defineJob({ name: "greet", schema: z.string() })(async function greet({ payload }) {
  logInfo("greeted");
  if (payload === "nobody" && state.isBroken !== false) throw new PermanentJobError("there is nobody to greet");
});`,
  "src/functions/api/greet/[name].post.ts":
    `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { getDb, greet, state } from "../../../jobs.ts";
export const handler = defineApiHandler()(async function ask({ event, context }) {
  const { name, delay, mend } = { ...event.queryStringParameters, ...event.pathParameters } as Record<string, string>;
  if (mend !== undefined) state.isBroken = mend === "0";
  const id = await greet.enqueue(await getDb(), name, { delaySeconds: Number(delay ?? 0) });
  return buildValidatedResponse(context, 202, { id });
});`,
  "src/functions/schedule/jobs-relay.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb, greet } from "../../jobs.ts";
export const handler = defineJobRelayHandler({ getDb, jobs: [greet] });`,
};

// deno-lint-ignore no-explicit-any
type Json = any;

/** Opens the tab of jobs in a browser, shows the only dead job, and sends it again. */
async function retryOnPage(url: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(`${url}/_trellis`, { waitUntil: "domcontentloaded" });
    await page.click("#tab-jobs");
    const choice = await page.waitForSelector('#panel-jobs select[aria-label="State"]');
    await choice!.select("dead");
    await page.waitForFunction(`document.querySelectorAll("#panel-jobs li").length === 1`);
    await page.click("#panel-jobs li button[aria-expanded]");
    await page.waitForFunction(
      `document.querySelector("#panel-jobs .detail")?.textContent.includes("nobody")`,
    );
    const text = await page.$eval("#panel-jobs li", (item) => item.textContent ?? "");
    assertStringIncludes(text, "there is nobody to greet");
    assertStringIncludes(text, "1 attempt");
    const phases = await page.$$eval(
      "#panel-jobs .detail .spans .name",
      (names) => names.map(({ textContent }) => textContent?.replace(/[\d:]+$/, "")),
    );
    assertEquals(phases, ["queued", "attempt at "]);
    assertEquals((await page.$$("#panel-jobs .timeline .bad")).length, 1);
    const stack = await page.$eval("#panel-jobs .stack", ({ textContent }) => textContent ?? "");
    assertStringIncludes(stack, "(src/jobs.ts:");
    await page.click('#panel-jobs button[aria-label="Send again: greet"]');
    await page.waitForFunction(
      `document.querySelector("#panel-jobs .empty")?.textContent === "No jobs."`,
    );
    assertEquals(faults, []);
  } finally {
    await browser.close();
  }
}

Deno.test(
  "startDevServer() runs due jobs by itself, and the page sends dead ones again",
  SERVED,
  async () => {
    await using project = await createTestProject(PROJECT);
    const server = await project.start({ database: "embedded" });
    const ask = async (path: string, method = "GET"): Promise<{ status: number; json: Json }> => {
      const response = await fetch(`${server.url}${path}`, { method });
      return { status: response.status, json: await response.json() };
    };
    const page = (path: string, method?: string) => ask(`/_trellis/api/${path}`, method);
    const waitFor = async (id: string, state: string): Promise<Json> => {
      for (let attempt = 0; attempt < 300; attempt++) {
        const { json } = await page(`jobs/${id}`);
        if (json.state === state) return json;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`the job did not become ${state}`);
    };
    const enqueue = async (path: string): Promise<string> =>
      (await ask(`/greet/${path}`, "POST")).json.id;

    const done = await enqueue("Ada");
    const { payload, runs, logs } = await waitFor(done, "done");
    assertEquals(payload, '"Ada"');
    assertEquals(runs.map(({ isFailed }: Json) => isFailed), [false]);
    assertEquals((await page(`calls/${runs[0].callId}`)).json.functionName, "JobsRelay");
    assertEquals(logs.map(({ message }: Json) => message), ["greeted", "job completed"]);
    const delayed = await enqueue("Bob?delay=1");
    await waitFor(delayed, "done");

    const dead = await enqueue("nobody");
    assertStringIncludes((await waitFor(dead, "dead")).lastError, "there is nobody to greet");
    const listed = (await page("jobs?state=dead")).json;
    assertEquals(listed.map(({ id, attempts }: Json) => [id, attempts]), [[dead, 1]]);
    assertEquals("payload" in listed[0], false);
    const later = await enqueue("Eve?delay=3600&mend=1");
    assertEquals((await page(`jobs/${dead}/retry`, "POST")).json.state, "queued");
    await waitFor(dead, "done");
    assertEquals((await page(`jobs/${later}/cancel`, "POST")).json.state, "cancelled");

    const refused = await page(`jobs/${done}/retry`, "POST");
    assertEquals([refused.status, refused.json.message], [
      400,
      "The job is done, so it was not changed",
    ]);
    for (const path of ["jobs/none", `jobs/${crypto.randomUUID()}`]) {
      assertEquals((await page(path)).status, 404, path);
    }
    assertEquals((await page("jobs?state=none")).status, 400);
    assertEquals((await page(`jobs/${done}/delete`, "POST")).status, 404);
    const broken = await enqueue("nobody?mend=0");
    await waitFor(broken, "dead");
    await enqueue("Mo?mend=1&delay=3600");
    if (browserPath !== undefined) await retryOnPage(server.url);
    else await page(`jobs/${broken}/retry`, "POST");
    await waitFor(broken, "done");
    const html = await (await fetch(`${server.url}/_trellis`)).text();
    assert(html.includes('id="tab-jobs"'));
    assertEquals(
      (await fetch(`${server.url}/_trellis/jobs.js`).then((r) => r.text())).includes(
        "openJobs",
      ),
      true,
    );
  },
);
