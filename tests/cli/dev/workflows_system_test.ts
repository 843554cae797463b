import { assertEquals, assertStringIncludes } from "@std/assert";
import { JOBS_MIGRATION_SQL } from "../../../jobs/mod.ts";
import { WORKFLOWS_MIGRATION_SQL } from "../../../workflows/mod.ts";
import { browserPath, launchBrowser } from "../../support/browser.ts";
import { createTestProject, SERVED } from "./fixtures/project.ts";

const PROJECT = {
  "package.json": '{ "name": "fixture", "type": "module" }',
  "migrations/0001_jobs.sql": JOBS_MIGRATION_SQL,
  "migrations/0002_workflows.sql": WORKFLOWS_MIGRATION_SQL,
  "src/workflows.ts": `import { getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
import { PermanentJobError } from "@trellis/fn/jobs";
import { defineWorkflow } from "@trellis/fn/workflows";
import * as z from "zod";
export const getDb = () => getDrizzleClient({ provider: "embedded-pg", connectionString: getRequiredEnv("DATABASE_URL") });
let isBroken = true;
export const ship = defineWorkflow({ name: "ship", input: z.string() })(async function ship({ step, input }) {
  return await step("label", () => "to " + input);
});
export const order = defineWorkflow({ name: "order", input: z.string() })(
  async function order({ step, waitFor, child, input }) {
    if (input === "broken") {
      return await step("break", () => {
        if (!isBroken) return "mended";
        isBroken = false;
        throw new PermanentJobError("there is no stock");
      });
    }
    await step("reserve", { undo: () => {} }, () => input);
    const paid = await waitFor("paid", { timeoutSeconds: 3600 });
    return { paid, label: await child(ship, input) };
  },
);`,
  "src/functions/api/order/[name].post.ts":
    `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { getDb, order } from "../../../workflows.ts";
export const handler = defineApiHandler()(async function ask({ event, context }) {
  const id = await order.start(await getDb(), event.pathParameters!.name!);
  return buildValidatedResponse(context, 202, { id });
});`,
  "src/functions/schedule/jobs-relay.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb, order, ship } from "../../workflows.ts";
export const handler = defineJobRelayHandler({ getDb, jobs: [order.job, ship.job] });`,
};

// deno-lint-ignore no-explicit-any
type Json = any;

/** Sends a signal to the only workflow, opens its child, and cancels another one, on a phone and by keyboard. */
async function visitPage(url: string, start: () => Promise<string>): Promise<string> {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.setViewport({ width: 400, height: 740 });
    await page.goto(`${url}/_trellis#workflows`, { waitUntil: "domcontentloaded" });
    const until = (expression: string) => page.waitForFunction(expression);
    const choice = await page.waitForSelector('#panel-workflows select[aria-label="State"]');
    await choice!.select("running");
    await until(`document.querySelectorAll("#panel-workflows .list > li").length === 1`);
    await page.focus("#panel-workflows .row");
    await page.keyboard.press("Enter");
    await until(`document.querySelector("#panel-workflows form input")?.value === "paid"`);
    await page.focus("#panel-workflows textarea");
    await page.keyboard.type('{ "cents":');
    // a new list keeps what is typed, and the focus
    const other = await start();
    await until(`document.querySelectorAll("#panel-workflows .list > li").length === 2`);
    await page.keyboard.type(" 250 }");
    assertEquals(
      await page.$eval("#panel-workflows textarea", ({ value }) => value),
      '{ "cents": 250 }',
    );
    assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 400);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await choice!.select("done");
    await until(
      `document.querySelector("#panel-workflows .detail:not([hidden])")?.textContent.includes("to Ada")`,
    );
    const names = await page.$$eval(
      "#panel-workflows .detail .spans .name",
      (spans) => spans.map(({ textContent }) => textContent),
    );
    assertEquals(names, ["step reserve", "waitFor paid", "signal paid", "child shipOpen"]);
    assertEquals(await page.$("#panel-workflows form"), null);
    await page.focus('#panel-workflows button[aria-label="Open ship"]');
    await page.keyboard.press("Enter");
    await until(`document.activeElement.textContent.includes("child")`);
    await until(`document.querySelectorAll("#panel-workflows .detail:not([hidden])").length === 2`);
    await page.focus('#panel-workflows button[aria-label="Cancel: order"]');
    await page.keyboard.press("Enter");
    await until(
      `[...document.querySelectorAll("#panel-workflows .badge")].some((each) => each.textContent === "cancelled")`,
    );
    assertEquals(faults, []);
    return other;
  } finally {
    await browser.close();
  }
}

Deno.test("the page shows workflows, sends signals, retries and cancels", SERVED, async () => {
  await using project = await createTestProject(PROJECT);
  const server = await project.start({ database: "embedded" });
  const ask = async (
    path: string,
    init?: RequestInit,
  ): Promise<{ status: number; json: Json }> => {
    const response = await fetch(`${server.url}${path}`, init);
    return { status: response.status, json: await response.json() };
  };
  const page = (path: string, body?: unknown) =>
    ask(
      `/_trellis/api/workflows${path}`,
      body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
    );
  const start = async (name: string): Promise<string> =>
    (await ask(`/order/${name}`, { method: "POST" })).json.id;
  const waitFor = async (id: string, is: (workflow: Json) => boolean): Promise<Json> => {
    for (let attempt = 0; attempt < 300; attempt++) {
      const { json } = await page(`/${id}`);
      if (is(json)) return json;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("the workflow did not get there");
  };
  const waits = ({ entries }: Json) => entries.some(({ kind }: Json) => kind === "wait");

  const broken = await start("broken");
  const failed = await waitFor(broken, ({ state }) => state === "failed");
  assertStringIncludes(failed.error, "there is no stock");
  const { json: [listed] } = await page("?state=failed&name=order");
  assertEquals([listed.id, "input" in listed], [broken, false]);
  assertEquals((await page("?name=other")).json, []);
  assertEquals((await page(`/${broken}/retry`, {})).json.state, "running");
  assertEquals((await waitFor(broken, ({ state }) => state === "done")).output, "mended");

  const paid = await start("Ada");
  await waitFor(paid, waits);
  for (const body of [{}, { name: "" }, "paid"]) {
    const { status, json } = await page(`/${paid}/signal`, body);
    assertEquals([status, json.message], [400, "A signal needs a name, and may have a payload"]);
  }
  let cancelled: string;
  if (browserPath !== undefined) cancelled = await visitPage(server.url, () => start("Bob"));
  else {
    await page(`/${paid}/signal`, { name: "paid", payload: { cents: 250 } });
    await waitFor(cancelled = await start("Bob"), waits);
    assertEquals((await page(`/${cancelled}/cancel`, {})).json.state, "cancelling");
  }
  const done = await waitFor(paid, ({ state }) => state === "done");
  assertEquals(done.output, { paid: { cents: 250 }, label: "to Ada" });
  const { childId } = done.entries.find(({ kind }: Json) => kind === "child");
  assertEquals((await page(`/${childId}`)).json.parentId, paid);
  const { entries } = await waitFor(cancelled, ({ state }) => state === "cancelled");
  assertEquals(
    entries.filter(({ kind }: Json) => kind === "undo").map(({ name }: Json) => name),
    ["reserve"],
  );

  for (const change of ["retry", "cancel", "signal"]) {
    const { status, json } = await page(`/${paid}/${change}`, { name: "paid" });
    assertEquals([status, json.message], [400, "The workflow is done, so it was not changed"]);
  }
  assertEquals((await page(`/${paid}/delete`, {})).status, 404);
  assertEquals((await page("?state=dead")).status, 400);
  for (const id of ["none", crypto.randomUUID()]) {
    assertEquals([(await page(`/${id}`)).status, (await page(`/${id}/cancel`, {})).status], [
      404,
      404,
    ]);
  }
});
